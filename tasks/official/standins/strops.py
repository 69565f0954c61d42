class strops:
    @staticmethod
    def rot13(s):
        return strops._move(s, 13, True)

    @staticmethod
    def reverse(s):
        return s[::-1]

    @staticmethod
    def swap_case(s):
        return s.swapcase()

    @staticmethod
    def char_rotate(s):
        return strops._move(s, 1, False)

    @staticmethod
    def char_rotate_by_3(s):
        return strops._move(s, 3, False)

    @staticmethod
    def mirror(s):
        moved = []
        for c in s:
            if 'a' <= c <= 'z':
                c = chr(ord('a') + ord('z') - ord(c))
            elif 'A' <= c <= 'Z':
                c = chr(ord('A') + ord('Z') - ord(c))
            moved.append(c)
        return ''.join(moved)

    @staticmethod
    def interleave(a, b):
        n = min(len(a), len(b))
        return ''.join(a[i] if i % 2 == 0 else b[i // 2] for i in range(n))

    @staticmethod
    def swap_halves(a, b):
        n = min(len(a), len(b))
        return a[n // 2:n] + b[:n // 2]

    @staticmethod
    def zip_chars(a, b):
        n = min(len(a), len(b))
        return ''.join(a[i] if i % 2 == 0 else b[i] for i in range(n))

    @staticmethod
    def alternate_chars(a, b):
        return a[::2] + b[1::2]

    @staticmethod
    def xor_chars(a, b):
        return ''.join(chr(ord('a') + (ord(x) ^ ord(y)) % 26) for x, y in zip(a, b))

    @staticmethod
    def _move(s, by, ascii_only):
        moved = []
        for c in s:
            if c.isascii() or not ascii_only:
                if c.islower():
                    c = chr(ord('a') + (ord(c) - ord('a') + by) % 26)
                elif c.isupper():
                    c = chr(ord('A') + (ord(c) - ord('A') + by) % 26)
            moved.append(c)
        return ''.join(moved)
