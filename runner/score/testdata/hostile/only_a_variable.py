# expect: failed functions: function f is missing
x = 1
