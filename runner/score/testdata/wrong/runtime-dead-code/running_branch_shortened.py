# expect: failed structure: function a was changed in the branch that runs
import strops
import sys

def check(x: int, a: int, b: int, target: int, num_steps: int) -> bool:
    for step in range(num_steps):
        if x % 2 == 0:
            x = x // 2
        else:
            x = a * x + b
    return x % 2 == target

def a(val: str) -> str:
    if check(2, 1, 1, 0, num_steps=1):
        q_val = val
        return strops.rot13(q_val)
    else:
        return strops.reverse(b(val))

def b(val: str) -> str:
    if check(2, 1, 1, 1, num_steps=1):
        return strops.rot13(val)
    else:
        return strops.mirror(val)

def main(val: str):
    return a(val)

if __name__ == '__main__':
    main(str(sys.argv[1]))
