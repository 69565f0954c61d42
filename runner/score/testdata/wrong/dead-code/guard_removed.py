# expect: failed structure: the __main__ block is missing or changed
# official: solved
import strops
import sys

def a(val: str) -> str:
    b_val = b(val)
    return strops.reverse(b_val)

def b(val: str) -> str:
    return strops.rot13(val)

def main(val: str):
    return a(val)
