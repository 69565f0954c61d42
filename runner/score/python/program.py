"""What a child of the executor does with a job: parse a source text, or run a
program's functions on inputs. It answers in lines of JSON, the last of which
is a full stop. Values cross as tagged text:

    N  T  F        None, True, False
    i-ff;          int, hexadecimal
    f3ff0...       float, the 16 digits of its bits
    s3:abc         str of ASCII characters, behind its length
    u4:c3a9        other str, as hexadecimal UTF-8 behind the length of that
    (..) [..] {..} tuple, list, dict (str keys, each before its value)
    a<f8|2,3|..;   numpy array: dtype, shape, hexadecimal data
"""

import ast
import base64
import bisect
import builtins
import codecs
import io
import json
import marshal
import math
import operator
import os
import re
import struct
import sys
import time
import tokenize
import types
import warnings

numpy = None
if STANDINS:  # a parser has none, and starts and forks faster without numpy
    try:
        import numpy
    except ImportError:
        pass

MAX_DEPTH = 64
MAX_VALUE = 1 << 20
MAX_BITS = 1_000_000
MAX_NODES = 300_000
MAX_TREE_DEPTH = 400
MAX_PRINTED_DEPTH = 50
MAX_PRINTED_LINE = 1000
MAX_NOTES = 20_000
MAX_MESSAGE = 200

clock = time.process_time_ns


def numpy_version():
    return numpy.__version__ if numpy else ""


class Unrepresentable(Exception):
    """A value that is not plain data; its text names the type."""


class Encoder:
    """Turns one value into tagged text within bounds of size and nesting."""

    def __init__(self):
        self.parts = []
        self.left = MAX_VALUE

    def put(self, text):
        self.left -= len(text)
        if self.left < 0:
            raise Unrepresentable("a value of more than %d bytes" % MAX_VALUE)
        self.parts.append(text)

    def value(self, v, depth=0):
        kind = type(v)
        if kind is float or numpy and kind is numpy.float64:
            self.put("f" + PACK(v).hex())
        elif kind is str:
            self.text(v)
        elif kind is tuple or kind is list:
            if depth >= MAX_DEPTH:
                raise Unrepresentable("a value nested more than %d deep" % MAX_DEPTH)
            self.put("(" if kind is tuple else "[")
            for item in v:
                self.value(item, depth + 1)
            self.put(")" if kind is tuple else "]")
        elif numpy and kind is numpy.ndarray:
            self.array(v)
        elif v is None:
            self.put("N")
        elif kind is bool:
            self.put("T" if v else "F")
        elif kind is int:
            if v.bit_length() > MAX_BITS:
                raise Unrepresentable("an int of more than %d bits" % MAX_BITS)
            self.put("i%x;" % v)
        elif kind is dict:
            self.mapping(v, depth)
        else:
            raise Unrepresentable(kind.__name__)

    def text(self, v):
        if len(v) > MAX_VALUE:
            raise Unrepresentable("a str of more than %d characters" % MAX_VALUE)
        if v.isascii():
            self.put("s%d:%s" % (len(v), v))
        else:
            data = v.encode("utf-8", "surrogatepass").hex()
            self.put("u%d:%s" % (len(data), data))

    def mapping(self, v, depth):
        if depth >= MAX_DEPTH:
            raise Unrepresentable("a value nested more than %d deep" % MAX_DEPTH)
        self.put("{")
        for key, item in v.items():
            if type(key) is not str:
                raise Unrepresentable("a dict with a key that is not a str")
            self.text(key)
            self.value(item, depth + 1)
        self.put("}")

    def array(self, v):
        if v.dtype.kind not in "biuf" or v.dtype.itemsize > 8:
            raise Unrepresentable("an array of " + v.dtype.name)
        if v.nbytes > MAX_VALUE:
            raise Unrepresentable("an array of %d bytes" % v.nbytes)
        shape = ",".join(map(str, v.shape))
        self.put("a%s|%s|%s;" % (v.dtype.str, shape, v.tobytes().hex()))


PACK = struct.Struct(">d").pack


def encode(v):
    kind = type(v)
    if kind is float:  # most values are one
        return "f" + PACK(v).hex()
    if kind is str and len(v) < MAX_VALUE and v.isascii():
        return "s%d:%s" % (len(v), v)
    encoder = Encoder()
    encoder.value(v)
    return "".join(encoder.parts)


def decode(text):
    """An input: a scalar, str or array in tagged text."""
    kind, rest = text[0], text[1:]
    if kind == "f":
        return struct.unpack(">d", bytes.fromhex(rest))[0]
    if kind == "i":
        return int(rest[:-1], 16)
    if kind in "TF":
        return kind == "T"
    if kind == "s":
        return rest.partition(":")[2]
    if kind == "u":
        return bytes.fromhex(rest.partition(":")[2]).decode("utf-8", "surrogatepass")
    dtype, shape, data = rest[:-1].split("|")
    flat = numpy.frombuffer(bytes.fromhex(data), dtype)
    return flat.reshape([int(n) for n in shape.split(",") if n])


def fresh(v):
    """A value that the callee may change without anybody noticing."""
    return v.copy() if numpy and type(v) is numpy.ndarray else v


def outcome(v):
    """A returned value as it goes into the answer."""
    try:
        return "=" + encode(v)
    except Unrepresentable as found:
        return "?" + found.args[0]


class Told(str):
    """An outcome that is text already."""


def told(result):
    """The outcome of a call."""
    kind = type(result)
    if kind is Told:
        return result
    return "=f" + PACK(result).hex() if kind is float else outcome(result)


def failure(raised):
    """An exception as it goes into the answer."""
    name = type(raised).__name__
    try:
        text = str(raised)
        if type(text) is not str:
            text = ""
    except BaseException:
        text = ""
    text = "%s: %s" % (name, text) if text else name
    return "!" + text[:MAX_MESSAGE]


class Answer:
    """The answer pipe, written in pieces of some size."""

    def __init__(self, fd):
        self.fd, self.lines, self.size = fd, [], 0

    def line(self, value):
        self.text(json.dumps(value, separators=(",", ":")))

    def text(self, text):
        self.lines.append(text)
        self.size += len(text)
        if self.size > 1 << 16:
            self.flush()

    def flush(self):
        view = memoryview(("\n".join(self.lines) + "\n").encode() if self.lines else b"")
        while view:
            view = view[os.write(self.fd, view):]
        self.lines, self.size = [], 0

    def end(self):
        self.flush()
        os.write(self.fd, b".\n")


# ---------------------------------------------------------------- running


def frozen(v):
    """A hashable stand-in for an argument that differs where the argument
    does, also in type and in the sign of zero."""
    kind = type(v)
    if kind is float:
        return v or (float, str(v))
    if kind is str:
        return v
    if numpy and kind is numpy.ndarray:
        return (v.tobytes(), v.shape, v.dtype.char)
    if numpy and kind is numpy.float64:  # a number like any other, as in Encoder
        return (kind, v.tobytes())
    if kind is tuple:
        return (tuple, tuple([frozen(item) for item in v]))
    if kind is int or kind is bool or v is None:
        return (kind, v)
    raise TypeError


def loosely_frozen(v):
    """As frozen, but for the published scorer, to which both zeros are one."""
    return v if type(v) is float else frozen(v)


def shareable(v):
    """v, or a copy of it, such that its reader cannot change what is kept;
    TypeError for values that are not plain."""
    kind = type(v)
    if kind is float or kind is str or kind is int or kind is bool or v is None:
        return v
    if numpy and kind is numpy.ndarray:
        return v.copy()
    if numpy and kind is numpy.float64:
        return v
    if kind is tuple:
        return tuple([shareable(item) for item in v])
    raise TypeError


def plain_names(code):
    """The parameter names of a function's code, or None when its parameters
    are not plain ones."""
    if code.co_kwonlyargcount or code.co_posonlyargcount or code.co_flags & 0x0C:
        return None
    return code.co_varnames[:code.co_argcount]


# A function that takes the same parameters as another, so that Python itself
# binds the arguments, and evaluates that other one once per arguments until
# kept_ is cleared. What cannot be remembered is called each time.
REMEMBERING = """
def build(function_, number_, kept_, frozen_, shareable_, missing_, type_, float_, str_):
    def call({names}):
        try:
            key_ = (number_, {keys})
            result_ = kept_.get(key_, missing_)
        except TypeError:
            return function_({names})
        if result_ is not missing_:
            if type_(result_) is float_ or type_(result_) is str_:
                return result_
            return shareable_(result_)
        result_ = function_({names})
        if type_(result_) is float_ or type_(result_) is str_:
            kept_[key_] = result_
            return result_
        try:
            # The first reader gets what later ones get: numpy may compute
            # with a view in another way than with its copy.
            kept_[key_] = shareable_(result_)
            return shareable_(result_)
        except TypeError:
            return result_
    return call
"""
# What frozen makes of most arguments, without calling it.
KEY = "{0} if type_({0}) is str_ or type_({0}) is float_ and {0} else frozen_({0})"
OWN_NAMES = {
    "function_", "number_", "kept_", "frozen_", "shareable_", "missing_", "type_", "float_",
    "str_", "key_", "result_",
}
MISSING = object()
BUILDERS = {}


def builder(names):
    """The build function of REMEMBERING for parameters of these names."""
    if names not in BUILDERS:
        space = {}
        keys = ", ".join(KEY.format(name) for name in names)
        exec(REMEMBERING.format(names=", ".join(names), keys=keys), space)
        BUILDERS[names] = space["build"]
    return BUILDERS[names]


def remembered(function, names, number, kept, freeze=frozen):
    """function with its results kept in kept, in which number is its name."""
    if not names or OWN_NAMES.intersection(names):
        return function
    build = builder(names)
    call = build(function, number, kept, freeze, shareable, MISSING, type, float, str)
    call.__defaults__ = function.__defaults__
    call.__name__, call.__qualname__ = function.__name__, function.__qualname__
    return call


def module(name, members):
    made = types.ModuleType(name)
    vars(made).update(members)
    return made


class Library:
    """mylibrary with variants that can be changed while the program keeps its
    functions. It takes down their calls, each with the place of the test call
    that led to it."""

    def __init__(self, code, indexed, standins):
        self.code, self.indexed, self.make = code, indexed, standins["library"]
        self.current = {}
        self.place, self.taken = -1, []

    def choose(self, variants):
        self.current = self.make(self.code, variants, self.indexed)
        self.place, self.taken = -1, []

    def members(self):
        return {name: self.listening(name) for name in self.current}

    def listening(self, name):
        def listen(*args, **kwargs):
            if len(self.taken) < MAX_NOTES:
                text = outcome((args, kwargs)) if args or kwargs else "=((){})"
                self.taken.append((self.place, name, text))
            return self.current[name](*args, **kwargs)

        return listen


class Environment:
    """The program's namespace after its execution under one variant of
    default, which is what signatures call."""

    def __init__(self, space, taken, error):
        self.space, self.taken, self.error = space, taken, error
        self.kept = {}  # what all its functions remember
        self.calls = []


class Runner:
    """One run job."""

    def __init__(self, job, standins, answer, counter):
        self.job, self.standins = job, standins
        self.answer, self.counter = answer, counter
        self.library = Library(job["code"], job["indexed"], standins)
        self.environments = {}
        self.failures = 0
        self.code = None
        self.evaluating = 0  # nanoseconds of CPU time

    def tick(self, trial, place):
        """Says which call comes next: 2 is the definition in the first trial,
        3 its first call. The plain calls stand behind the last trial's."""
        self.counter[0] = self.first(trial) + place

    def first(self, trial):
        """The number of a trial's first call."""
        return 3 + trial * (len(self.job["calls"]) + 1)

    def define(self):
        """Executes the program under the library's current variants."""
        sys.modules["mylibrary"] = module("mylibrary", self.library.members())
        sys.modules["strops"] = module(
            "strops", {f.__name__: f for f in self.standins["STROPS"]}
        )
        space = {"__name__": "solution", "__builtins__": builtins}
        error = ""
        try:
            exec(self.code, space)
        except BaseException as raised:
            error = failure(raised)
        return Environment(space, self.library.taken, error)

    def environment(self, variants):
        """The environment of a trial, with nothing remembered in it."""
        default = variants[1]
        found = self.environments.get(default)
        if found is None:
            found = self.environments[default] = self.define()
            if not found.error:
                self.remember(found)
        found.kept.clear()
        return found

    def remember(self, env):
        for number, (name, params) in enumerate(self.job["calls"]):
            function = env.space.get(name)
            names = plain_names(function.__code__) if type(function) is types.FunctionType else None
            if names is not None:
                function = env.space[name] = remembered(function, names, number, env.kept)
            in_order = names == tuple([param for param, _ in params])
            env.calls.append((function, params, in_order))

    def call(self, function, params, in_order, values):
        """What a function returns, if nothing can change that any more, else
        the outcome of the call as Told."""
        if function is None:
            self.failures += 1
            return Told("-")
        try:
            if in_order:
                result = function(*[fresh(values[key]) for _, key in params])
            else:
                result = function(**{name: fresh(values[key]) for name, key in params})
            kind = type(result)
            return result if kind is float or kind is str else Told(outcome(result))
        except BaseException as raised:
            self.failures += 1
            return Told(failure(raised))

    def trial(self, number, trial):
        self.library.choose(trial["stubs"])
        self.tick(number, -1)
        env = self.environment(trial["stubs"])
        taken = self.library.taken = list(env.taken)
        outcomes = []
        line = {"t": number, "d": env.error, "v": outcomes, "c": taken}
        if env.error:
            self.failures += 1
        else:
            values = {key: decode(text) for key, text in trial["values"].items()}
            results = self.results(env, number, values)
            outcomes.extend([told(result) for result in results])
        self.answer.line(line)

    def results(self, env, number, values):
        """What the calls of one trial give, see call."""
        results, library, counter = [], self.library, self.counter
        first = self.first(number)
        began = clock()
        for place, (function, params, in_order) in enumerate(env.calls):
            counter[0] = first + place
            library.place = place
            results.append(self.call(function, params, in_order, values))
            if self.failures >= self.job["failures"]:
                break
        self.evaluating += clock() - began
        counter[1] = self.evaluating
        return results

    def plain(self, job):
        """A few calls in one environment without remembering anything."""
        self.library.choose(job["stubs"])
        behind = len(self.job["trials"])
        self.tick(behind, -1)
        env = self.define()
        if env.error:
            self.answer.line({"p": [env.error]})
            return
        results = []
        for place, values in enumerate(job["values"]):
            self.tick(behind, place)
            given = {name: fresh(decode(values[key])) for name, key in job["params"]}
            began = clock()
            results.append(self.named(env.space.get(job["call"]), given))
            self.evaluating += clock() - began
            self.counter[1] = self.evaluating
            if any(outcome(given[name]) != outcome(decode(values[key])) for name, key in job["params"]):
                results[-1] = "!changes its argument"
        self.answer.line({"p": results})

    def named(self, function, given):
        """The outcome of a call with these very objects."""
        if function is None:
            return "-"
        try:
            return outcome(function(**given))
        except BaseException as raised:
            return failure(raised)

    def run(self):
        if numpy:
            numpy.seterr(all="ignore")
        try:
            self.code = marshal.loads(base64.b64decode(self.job["program"]))
        except BaseException as raised:
            self.answer.line({"error": failure(raised)[1:]})
            return
        for number, trial in enumerate(self.job["trials"]):
            self.trial(number, trial)
            if self.failures >= self.job["failures"]:
                return
        if self.job["plain"]:
            self.answer.flush()
            self.plain(self.job["plain"])


class Classes(Runner):
    """A run job that calls the method compute of new objects."""

    def remember(self, env):
        for name, params in self.job["calls"]:
            env.calls.append((computing(env.space.get(name)), params, True))


def computing(made):
    return made and (lambda *args: made().compute(*args))


# What the published scorer lets programs use of Python's builtins.
OFFICIAL_BUILTINS = (
    "abs all any bin bool chr dict divmod enumerate filter float hex int isinstance issubclass "
    "len list map max min oct ord pow print range repr reversed round set slice sorted str sum "
    "tuple type zip True False None Exception ValueError TypeError IndexError KeyError "
    "ZeroDivisionError"
).split()


class Official:
    """A job that runs functions in the way of the published scorer: only those
    that the task has too, printed anew, in an environment with few builtins."""

    def __init__(self, job, standins, answer, counter):
        self.job, self.standins = job, standins
        self.answer, self.counter = answer, counter
        self.at = 2
        self.evaluating = 0  # nanoseconds of CPU time
        self.builtins = {name: getattr(builtins, name) for name in OFFICIAL_BUILTINS}

    def tick(self):
        self.at += 1
        self.counter[0] = self.at

    def surroundings(self, stubs):
        """The names that a program finds."""
        code, standins = self.job["code"], self.standins
        space = {"math": math, "operator": operator, "numpy": numpy, "np": numpy}
        if code == "string":
            functions = {f.__name__: f for f in standins["STROPS"]}
            space.update(functions, codecs=codecs, strops=types.SimpleNamespace(**functions))
        space.update(standins["library"](code, stubs, self.job["indexed"]))
        space["__builtins__"] = self.builtins
        return space

    def define(self, code, stubs):
        space = self.surroundings(stubs)
        exec(code, space)
        if self.job["memoize"]:
            kept = {}
            for number, name in enumerate(self.job["names"]):
                function = space.get(name)
                if type(function) is types.FunctionType:
                    names = plain_names(function.__code__)
                    space[name] = remembered(function, names, number, kept, loosely_frozen)
        return space

    def call(self, function, params, texts):
        """The outcome by name and, where that fails, the one by position."""
        values = [fresh(decode(text)) for text in texts]
        try:
            return [loose(function(**dict(zip(params, values))))]
        except Exception as raised:
            first = failure(raised)
        except BaseException as raised:
            return [failure(raised)]
        try:
            return [first, loose(function(*values))]
        except BaseException as raised:
            return [first, failure(raised)]

    def run(self):
        if numpy:
            numpy.seterr(all="ignore")
        try:
            code = marshal.loads(base64.b64decode(self.job["program"]))
            for number, trial in enumerate(self.job["trials"]):
                self.tick()
                space = self.define(code, trial["stubs"])
                outcomes = []
                began = clock()
                for (name, params), texts in zip(self.job["calls"], trial["values"]):
                    self.tick()
                    outcomes.append(self.call(space[name], params, texts))
                self.evaluating += clock() - began
                self.counter[1] = self.evaluating
                self.answer.line({"t": number, "v": outcomes})
        except BaseException as raised:
            self.answer.line({"error": failure(raised)[1:]})


def loose(v):
    """An outcome in which numpy's numbers are Python's."""
    if type(v) is float:
        return "=f" + PACK(v).hex()
    if numpy and isinstance(v, numpy.generic):
        v = v.item()
    elif type(v) is tuple or type(v) is list:
        v = type(v)([x.item() if numpy and isinstance(x, numpy.generic) else x for x in v])
    return outcome(v)


# ---------------------------------------------------------------- parsing


class TooLarge(Exception):
    """A tree beyond the bounds."""


class Tree:
    """Writes a syntax tree as JSON: {"t": class, field: …}. Positions, loading
    contexts and empty fields are left out, so equal trees have equal texts."""

    def __init__(self):
        self.nodes = 0
        self.deepest = 0
        self.fields = {}  # of each class, with what stands before each

    def count(self, nodes, depth):
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise TooLarge("more than %d syntax nodes" % MAX_NODES)
        if depth > self.deepest:
            self.deepest = depth
            if depth > MAX_TREE_DEPTH:
                raise TooLarge("nested more than %d deep" % MAX_TREE_DEPTH)

    def measured(self, node):
        """A statement's tree, with its nodes and depth."""
        nodes, deepest, self.deepest = self.nodes, self.deepest, 0
        written = self.node(node)
        depth = self.deepest
        self.deepest = max(deepest, depth)
        return written, self.nodes - nodes, depth

    def node(self, node, depth=0):
        self.count(1, depth)
        kind = type(node)
        if kind is ast.Constant:
            return '{"t":"Constant","value":%s}' % quoted(constant(node.value))
        if kind is ast.Name and type(node.ctx) is ast.Load:
            return '{"t":"Name","id":%s}' % quoted(node.id)
        parts = ['{"t":"', kind.__name__, '"']
        for field, before in self.fields.get(kind) or self.learn(kind):
            value = getattr(node, field, None)
            if value is None or value == []:
                continue
            if field == "ctx":
                if type(value) is not ast.Load:
                    parts += before, '"', type(value).__name__, '"'
            elif type(value) is list:
                parts += before, "[", ",".join([self.item(v, depth) for v in value]), "]"
            else:
                parts += before, self.item(value, depth)
        parts.append("}")
        return "".join(parts)

    def learn(self, kind):
        names = [name for name in kind._fields if name not in ("type_comment", "kind")]
        self.fields[kind] = [(name, ',"%s":' % name) for name in names]
        return self.fields[kind]

    def item(self, item, depth):
        if isinstance(item, ast.AST):
            return self.node(item, depth + 1)
        return quoted(item) if type(item) is str else json.dumps(item)


quoted = json.encoder.encode_basestring_ascii


def constant(value):
    """A constant as text; constants of different types or values differ."""
    try:
        return encode(value)
    except Unrepresentable:
        return "%s %r" % (type(value).__name__, value)


def check_encoding(source):
    """Raises what running the file would; compile() itself lets some pass."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    source.decode(encoding)


def decoded(source):
    """The text of a file, with the line ends that positions count."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return source.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


class Layout:
    """What a syntax tree does not tell: comments, as [line, column, stands
    alone, text], and the lines on which logical lines end."""

    def __init__(self, text):
        self.comments, self.ends = [], []
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                alone = not token.line[:column].strip()
                self.comments.append([line, column, alone, token.string])
            elif token.type == tokenize.NEWLINE:
                self.ends.append(token.start[0])

    def spans(self, function):
        """Where a function's header ends, and its statements stand."""
        header = self.ends[bisect.bisect_left(self.ends, function.lineno)]
        return {
            "header": header, "end": function.end_lineno,
            "body": [[first_line(s), s.end_lineno, s.col_offset] for s in function.body],
        }


def first_line(statement):
    decorators = getattr(statement, "decorator_list", None)
    return decorators[0].lineno if decorators else statement.lineno


def parse(job, answer, counter):
    """For each source, one line per statement of the module and some about the
    whole, or one that says why not. Of the first so many, "programs", the code
    is made as well; "names" are the functions of the task, where they are not
    those of the first source."""
    warnings.simplefilter("ignore")
    known, names = {}, job["names"]
    for number, source in enumerate(job["sources"]):
        source = base64.b64decode(source)
        try:
            check_encoding(source)
            tree = compile(source, "solution.py", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
            if names is None:
                names = [node.name for node in tree.body if type(node) is ast.FunctionDef]
            keep = names if number < job["programs"] else None
            lines = list(parsed(source, tree, job["layout"], keep, known))
        except TooLarge as found:
            lines = ['{"error":%s}' % quoted(found.args[0])]
        except (
            SyntaxError, ValueError, RecursionError, MemoryError, OverflowError,
            tokenize.TokenError, IndexError,
        ) as raised:
            lines = ['{"error":%s}' % quoted(failure(raised)[1:])]
        counter[0] += 1
        for line in lines:
            answer.text(line)
        answer.text('{"end":true}')


def parsed(source, module_tree, with_layout, keep, known):
    """The lines about one source. known holds the trees of functions by their
    source texts: the sources of a job have many in common. keep names the
    functions that the published scorer keeps; without it no code is made."""
    text = decoded(source)
    layout = Layout(text) if with_layout else None
    tree, rows = Tree(), text.split("\n")
    for node in module_tree.body:
        yield statement(tree, node, layout, rows, known)
    if layout:
        yield json.dumps({"comments": layout.comments})
    if keep is not None:
        alike = tree.deepest <= MAX_PRINTED_DEPTH and printed_alike(source)
        yield json.dumps(programs(source, set(keep) - {"main"}, alike))


def statement(tree, node, layout, rows, known):
    name = spans = ""
    key = None
    if type(node) is ast.FunctionDef:
        name = node.name
        spans = ',"spans":' + json.dumps(layout.spans(node)) if layout else ""
        if not node.decorator_list:
            key = "\n".join(rows[node.lineno - 1:node.end_lineno])
    found = known.get(key)
    if found is None:
        found = tree.measured(node)
        if key:
            known[key] = found
    else:
        tree.count(*found[1:])
    written = found[0]
    return '{"line":%d,"def":%s%s,"tree":%s}' % (node.lineno, quoted(name), spans, written)


def programs(source, keep, alike):
    """The code of a program, and of what the published scorer makes of it. It
    is made here and not in the processes that run it, to be made once."""
    whole = compile(source, "solution.py", "exec", dont_inherit=True)
    made = {"program": packed(whole)}
    try:
        made["kept"] = packed(kept_program(source, keep, alike))
    except BaseException as raised:
        made["unkept"] = failure(raised)[1:]
    return made


def packed(code):
    return base64.b64encode(marshal.dumps(code)).decode()


def kept_program(source, keep, alike):
    """The code of the functions that are kept. They are printed anew, in order
    that numpy's name be replaced wherever it stands, unless replacing it in
    the source comes to the same."""
    tree = ast.parse(source.replace(b"np.", b"numpy.") if alike else source)
    kept = ast.Module([n for n in tree.body if type(n) is ast.FunctionDef and n.name in keep], [])
    if not alike:
        text = ast.unparse(kept)
        kept = text.replace("import numpy as np", "import numpy").replace("np.", "numpy.")
    return compile(kept, "solution.py", "exec", dont_inherit=True)


IMPORT = re.compile(rb"^import numpy as np$", re.MULTILINE)
USE = re.compile(rb"(?<![\w.])np\.(?=[a-z])")


def printed_alike(source):
    """Whether a program printed anew differs from its source in nothing that
    replacing numpy's short name could notice: the name stands in no text and in
    no longer name, and everything is short and written without escapes."""
    if not source.isascii() or b"\\" in source:
        return False
    if max(map(len, source.split(b"\n"))) > MAX_PRINTED_LINE:
        return False
    if b"np" not in source:
        return True
    left = USE.sub(b"", IMPORT.sub(b"", source))
    if b"np" in left or b"\'\'\'" in source or b'"""' in source:
        return False
    return not any(b"np" in row and (b"'" in row or b'"' in row) for row in source.split(b"\n"))


# ---------------------------------------------------------------- entry


def load(text):
    space = {"__name__": "standins"}
    exec(compile(text, "standins.py", "exec"), space)
    return space


LOADED = load(STANDINS)
KINDS = {"run": Runner, "classes": Classes, "official": Official}


def work(data, fd, counter):
    """The whole of a child: one job, one answer."""
    job = json.loads(data)
    answer = Answer(fd)
    counter[0] = 1
    if job["op"] == "parse":
        parse(job, answer, counter)
    else:
        KINDS[job["op"]](job, LOADED, answer, counter).run()
    answer.end()
