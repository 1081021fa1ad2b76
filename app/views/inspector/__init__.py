"""The inspector: facts about the selected loop, block or buffer, else the memories of the machine."""
