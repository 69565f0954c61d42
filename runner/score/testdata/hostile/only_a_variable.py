# expect: failed functions: function f is missing
# official: solved
x = 1
