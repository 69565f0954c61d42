# expect: failed functions: function f is missing
# nothing
# at all
