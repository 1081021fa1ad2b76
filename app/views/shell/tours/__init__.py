"""The guided tours: their steps, with the tests of the program that say whether a task is done."""
