"""Tilewright: a visual schedule notebook for tensor programs. (The names come back when engine/hwsim and engine/script are in.)"""
