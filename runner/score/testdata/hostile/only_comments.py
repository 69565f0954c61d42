# expect: failed functions: function f is missing
# official: solved
# nothing
# at all
