r"""Comments and strings of programs, by the family of their language, which their text shows.

Languages with the same comments and strings form a family. No suffix is known, so that the same
text has the same tokens wherever it is; the family is guessed in two steps:

1. In the first 4,096 characters of a text, everything is taken out that is a string or a comment
   in any family that has it: what is between double quotes, three quotes or the marks of block
   comments, and heredocs. What a string says decides nothing.
2. What stands at the start of each line votes for families: a word and what follows it on its line
   (`def f():`, `END IF`, `let rec`), or the mark of a comment. Comments in a row have one vote,
   smaller than that of most lines of code; so one comment decides only if no code does.

A family that has all comments of another, and more, is a variant: it is chosen by the votes of its
own lines among those of the whole group.

What this cannot tell apart is in docs/choosing.md, by language.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import cache

from lshdb.shingling import tokens

_SAMPLE = 1 << 12
"""Characters of a text by which its family is guessed."""
_DEPTH = 3
"""Of comments within comments."""


def _between(begin: str, end: str, depth: int = 1) -> str:
    """What matches from one mark to another, or to the end of the text; others may be within."""
    first, rest = re.escape(end[0]), re.escape(end[1:])
    opens, more = re.escape(begin[0]), re.escape(begin[1:])
    inside = f"[^{first}]*+(?:{first}(?!{rest})[^{first}]*+)*+"
    for level in range(depth):
        pattern = f"{opens}{more}{inside}(?:{first}{rest})?+"
        if level + 1 < depth:
            other = f"{opens}(?!{more})" if opens != first else f"{first}(?!{more}|{rest})"
            signs = f"{first}(?!{rest})|" if opens != first else ""
            inside = f"(?:[^{first}{opens}]++|{pattern}|{signs}{other})*+"
    return pattern


def _string(quote: str, inside: str = r"\n", before: str = "") -> str:
    """A string with escapes, to its quote or the end of its line."""
    return rf"{quote}{before}(?:[^{quote}\\{inside}]++|\\.)*+{quote}?"


def _plain(quote: str, before: str = "") -> str:
    """A string without escapes, in which a quote is doubled."""
    return rf"{quote}{before}(?:[^{quote}\n]++|{quote}{quote})*+{quote}?"


def _strings(quote: str, before: str = "") -> str:
    """A string with escapes, or one of three quotes, which may have many lines."""
    long = rf"{quote * 2}(?:[^{quote}\\]++|\\.|{quote}(?!{quote * 2}))*+(?:{quote * 3})?"
    return rf"{quote}{before}(?:{long}|(?:[^{quote}\\\n]++|\\.)*+{quote}?)"


_LINES = "[^\n]*"
_SLASHES = ["//" + _LINES, _between("/*", "*/")]
_CHARACTER = r"'(?:\\[^\n']{1,10}+|\\'|[^'\\\n])'"
"""A character; other single quotes are signs, as of lifetimes, type variables and primes."""
_NO_WORD = r"(?<![\w)\]}.']')"
"""A quote behind a word is an attribute, a prime, an apostrophe or a transpose."""
_PREFIXED = r"(?:(?<!\w')|(?<=\b[rRbBuUfF]')|(?<=\b[rRbBuUfF]{2}'))"
"""Not an apostrophe; some letters are the prefix of a string."""
_REGEX = (
    r"/(?:(?<=[(,=:\[!&|?{};~]/)|(?<=[(,=:\[!&|?{};~] /)|(?<=return /))(?![*/ ])"
    r"(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,60}+\]){1,200}+/"
)
"""A regular expression where a value may be; of a limited length, as a line may be a megabyte."""
_LISP = [";(?<!\\\\;)" + _LINES, _between("#|", "|#", _DEPTH)]

_FAMILIES: dict[str, tuple[list[str], list[str]]] = {
    "slashes": (
        _SLASHES,
        [_strings('"'), _string("'", before=r"(?:(?<![0-9]')|(?<=u8'))"), _string("`", ""), _REGEX],
    ),
    "lifetimes": (
        ["//" + _LINES, _between("/*", "*/", _DEPTH)],
        [_string('"', ""), _CHARACTER, r"r(?<!\w\w)#\"[^\"]*+(?:\"(?!#)[^\"]*+)*+(?:\"#)?"],
    ),
    "dollars": (
        [*_SLASHES, r"#(?!\[)" + _LINES, _between("<!--", "-->")],
        [_string('"'), _string("'", before=_PREFIXED), _string("`", "")],
    ),
    "hash": (
        [
            r"#(?<![\\${]#)(?:=[^=]*+(?:=(?!#)[^=]*+)*+=#|[^\n]*+)",
            r"\n=(?:begin|pod|head|item|over|for\b|encoding)[^\n]*+"
            r"(?:\n(?!=(?:end|cut)\b)[^\n]*+)*+(?:\n=(?:end|cut)[^\n]*+)?",
            r"<#(?=\s)[^#]*+(?:#(?!>)[^#]*+)*+(?:#>)?",
        ],
        [
            _strings('"'),
            _strings("'", _PREFIXED),
            r"@\"(?=[ \t\r]*+\n)[^\"]*+(?:\"(?!@)[^\"]*+)*+(?:\"@)?",
            r"@'(?=[ \t\r]*+\n)[^']*+(?:'(?!@)[^']*+)*+(?:'@)?",
            r"/(?:(?<=~ /)|(?<=~/)|(?<=\(/)|(?<=split /)|(?<=~ m/))(?:[^/\\\n]|\\.){1,200}+/",
            # Not from the letter on, which is frequent; before a string it is a part of it anyway.
            r"/(?<=~ s/)(?:[^/\\\n]|\\.){0,200}+/(?:[^/\\\n]|\\.){0,200}+/",
        ],
    ),
    "dashes": (
        ["--" + _LINES, _between("{-", "-}", _DEPTH), _between("/*", "*/")],
        [_string('"'), _CHARACTER, rf"'{_NO_WORD}(?:[^'\\\n]++|\\.|'')*+'?"],
    ),
    "lua": (
        [r"--(?:\[(=*+)\[[^\]]*+(?:\](?!\1\])[^\]]*+)*+(?:\]\1\])?|[^\n]*+)"],
        [_string('"'), _string("'"), r"\[\[[^\]]*+(?:\](?!\])[^\]]*+)*+(?:\]\])?"],
    ),
    "semicolon": (_LISP, [_string('"', "")]),
    "assembler": (
        [
            ";" + _LINES,
            *_SLASHES,
            "#(?:(?<=\n#)|(?=[ \t#]))" + _LINES,
            "@(?:(?<=\n@)|(?=[ \t@]))" + _LINES,
        ],
        [_string('"'), _CHARACTER, _plain("'", _NO_WORD)],
    ),
    "percent": (
        [
            r"%(?<![\\$]%)(?:\{(?=[ \t]*+\n)[^%]*+(?:%(?!\})[^%]*+)*+(?:%\})?|[^\n]*+)",
            r"/\*(?<=[\s(]/\*)[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?",
        ],
        [_string('"'), _plain("'", _NO_WORD)],
    ),
    "markup": (
        [
            r"<!--[^-]*+(?:-(?!->)[^-]*+)*+-->",
            r"/\*(?<=[\s;{}(]/\*)[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?",
            r"\n[ \t]*+//" + _LINES,
        ],
        [_string('"')],
    ),
    "fortran": (
        [
            "!" + _LINES,
            *(
                rf"\n{mark}(?:[-*=.!](?!=)[^\n]*+|(?=\n)|[ \t]++(?![=(%])[^\n]*+)"
                for mark in ("c", "C", r"\*")
            ),
        ],
        [_plain('"'), _plain("'")],
    ),
    "basic": (["'" + _LINES, r"\n[ \t\d]*+[Rr][Ee][Mm]\b" + _LINES], [_plain('"')]),
    "batch": ([r"\n[ \t]*+@?(?:[Rr][Ee][Mm]\b|::)" + _LINES], [_plain('"')]),
    "ml": (
        [_between("(*", "*)", _DEPTH).replace(r"\(\*", r"\(\*(?!\))", 1), "//" + _LINES],
        [_strings('"'), _CHARACTER, r"\{\|[^|]*+(?:\|(?!\})[^|]*+)*+(?:\|\})?"],
    ),
    "pascal": (
        [r"\{[^}]*+\}?", _between("(*", "*)"), "//" + _LINES],
        [_plain("'"), _plain('"')],
    ),
}
"""Of each family: comments and strings."""
_ALONE = (
    r"(?<=/)/|(?<=-)-(?=[ \t-])|(?<=%)%|(?<=;)[; \t]++(?=\w)|(?<=#)(?=[ \t#])"
    r"(?! *(?:include *[<\"]|define [A-Z_]|ifn?def|if |elif|else|endif|pragma|undef|error|line)\b)"
)
"""Marks of comments that stand alone on their line in some family, and begin no line of code."""
_BLOCKS = (("/*", "*/"), ("<!--", "-->"), ("{- ", "-}"))
"""Comments of many lines that are no code in any family."""
_FIRST_SIGN = r"\n[ \t]*+[-/%;#<{]"
"""The end of the line before, and what all of these begin with: few lines do."""


_VARIANTS = {
    "lifetimes": "slashes",
    "dollars": "slashes",
    "lua": "dashes",
    "assembler": "semicolon",
}
"""Families with the comments of another, of which they are a variant."""
_ENOUGH = 30
"""Votes of a family with which the others need not be counted."""
_CLEAR = 8
"""Votes of lines with known words, three times those of others, with which these are enough."""
_DECIDING = 3
"""Votes for a variant, at least."""
_APART = re.compile(
    "|".join(
        [
            r'"(?:""(?:[^"\\]++|\\.|"(?!""))*+(?:""")?+|(?:[^"\\\n]++|\\.)*+")',
            r"'''[^']*+(?:'(?!'')[^']*+)*+'''",
            r"`(?<=[=(,:+?{ \t\[]`)(?![(`'\\])[^`]*+`",
            r"/\*(?<=[\s({;,]/\*)[^*]*+(?:\*(?!/)[^*]*+)*+\*/",
            r"/\*(?<=\n/\*)[^*]*+(?:\*(?!/)[^*]*+)*+",
            r"<!--[^-]*+(?:-(?!->)[^-]*+)*+-->",
            r"\(\*(?=[\s*])[^*]*+(?:\*(?!\))[^*]*+)*+\*\)",
            r"\{-(?<!\{\{-)(?=[\s|])[^-]*+(?:-(?!\})[^-]*+)*+-\}",
            r"<#(?=\s)[^#]*+(?:#(?!>)[^#]*+)*+#>",
            r"#\|[^|]*+(?:\|(?!#)[^|]*+)*+\|#",
            r"--\[\[[^\]]*+(?:\](?!\])[^\]]*+)*+\]\]",
            r"%\{[ \t]*+\n[^%]*+(?:%(?!\})[^%]*+)*+%\}",
            r"\n=(?:begin|pod|head)[^\n]*+(?:\n(?!=(?:end|cut)\b)[^\n]*+)*+(?:\n=(?:end|cut))?+",
        ]
    ),
    re.DOTALL,
)
"""Strings and comments of many lines."""


def _taken_out(match: re.Match[str]) -> str:
    """A string without its text, or the mark of a comment."""
    first = match[0][0]
    return '""' if first in "\"'`" else match[0][: {"<": 4, "-": 3}.get(first, 2)]


_TOKEN = re.compile(
    r"\n[ \t]*+(\w++|//|/\*|--\[|--|\{-|<!--|<\?|\(\*|<#|#\||#!|::|%\{|<!|[^\w\s])([^\n]*+)"
)
"""The first word or sign of a line, and what follows."""
_MARKS: dict[str, tuple[str, str]] = {
    "//": ("slashes", ""),
    "/*": ("slashes", ""),
    "#": ("hash", r"(?![\[({]|\w+ *\{|(?:include|define|undef|ifn?def|endif|pragma)\b)"),
    "<#": ("hash", ""),
    "=": ("hash", "$|(?:begin|pod|head)"),
    "--": ("dashes", r"[-\s=*|^]|$"),
    "{-": ("dashes", r"[-\s|]|$"),
    "--[": ("lua", ""),
    ";": ("semicolon", r"[^\[(']|$"),
    "#|": ("semicolon", ""),
    "%": ("percent", r"[%\w=-]|\s++[^(\s]|$"),
    "%{": ("percent", r"\s*$"),
    "<!--": ("markup", ""),
    "!": ("fortran", r"[-\s=*!$]|$"),
    "'": ("basic", r"[\s']+\w|[A-Za-z]+ [a-z]|$"),
    "::": ("batch", r"\s|$"),
    "rem": ("batch", r"\s|$"),
    "REM": ("batch", r"\s|$"),
    "Rem": ("batch", r"\s|$"),
    "(*": ("ml", r"[\s*]|$"),
    "{": ("pascal", r" *[\w$][^;:=,\n{]*\} *$"),
}
"""The family of each mark of a comment, and what follows it there."""
_COMMENT = 2
"""Votes of a comment."""
_END = r"(?!\S)(?=\s*+(?:$|[#%!;']|//|/\*|--|\(\*))"
"""The end of a line, or a comment behind it; `~~` in the tables below."""
# fmt: off
_LINES_OF: list[tuple[str, list[tuple[str, str]]]] = [
    # What no comment and no word begins with.
    ("slashes 4", [
        ("#", r"(?:include|define|undef|ifn?def|endif|pragma|import|error)\b"),
        ("#", r" *(?:include *[<\"]|define +[A-Z_]+\b|ifn?def \w+~~|if +defined|endif~~)"),
        ("@", r"(?:media|import|charset|font-face|keyframes|mixin|include|interface|end)\b"),
    ]),
    ("slashes 2", [
        ("#", r"[\w-]+[^\n]*\{~~"),
        ("{", r"~~"),
        (".", r"\w[\w-]*(?:[ :.>+~][^\n;]*)?\{~~"),
    ]),
    ("lifetimes 3", [("#", r"!?\[")]),
    ("slashes 1", [
        ("}", ""),
        ("@", r"\w+(?:\([^\n]*\))?~~"),
    ]),
    ("batch 6", [("@", r"(?i:echo off|rem\b)")]),
    ("hash 6", [("#!", r"(?!.*(?:node|deno|bun|php|lua|escript|swipl|scheme|guile|racket|sbcl|clj|ocaml|haskell|runghc|rust-script))")]),
    ("dollars 6", [("<?", r"(?:php|=)")]),
    ("markup 8", [
        ("<?", "xml"),
        ("<", r"(?:html|head|body|template|script|style|svg|xsl:\w+|project|configuration)\b"),
    ]),
    ("markup 1", [("<", r"/?[a-zA-Z][\w:-]*(?:[ >/]|~~)")]),
    ("markup 6", [("<!", r"DOCTYPE|\[CDATA")]),
    ("dollars 3", [("$", r"this->|\w+->\w+\(")]),
    ("dollars 1 hash 1", [("$", r"\w+(?:\[[^\n]*\])* *[.+*/-]?= *[^\n]*;~~")]),
    ("hash 4", [
        ("$", r"[\w:]+ *(?:\+|-)?= *[^\n;]*~~"),
        ("$", r"\w+ *=~"),
        ("if elseif while", r" *\([^\n]* -(?:eq|ne|gt|lt|ge|le|like|match|not|and|or) "),
        ("[", r"(?:Parameter|CmdletBinding|string\]|int\])"),
    ]),
    ("hash 3", [
        ("$", r"_\b|\w+(?:\.\w+)* *\|"),
        ("@", r"\w+ *(?:\|\|)?= "),
        ("%", r"\w+ *= *\("),
    ]),
    ("hash 1", [
        ("[", r"[\w.\"-]+\]~~"),
        ("-", r" [\w\"'{]"),
    ]),
    ("percent 4", [
        ("[", r"[\w, ~]+\] *= *\w+ *\("),
        (":", r"- "),
        ("\\", r"(?:begin|end|(?:sub)*section|documentclass|usepackage|item|newcommand|chapter|title|author|maketitle|label|caption|includegraphics|input)\b"),
    ]),
    ("percent 5", [("-", r"(?:module|export|define|record|include|import|spec|type|behaviou?r)\b")]),
    ("percent 2", [("\\", r"[a-zA-Z]+(?![^\n]*->)")]),
    ("semicolon 3", [("(", r"(?:def\w*|let\*?|lambda|cond|if|setq?|setf|progn|loop|when|unless|display|newline|ns|require|use|import|print\w*|format|begin|define[\w-]*|module|provide|and|or|do\w*|for[\w/]*|->>?|set!|map\w*|car|cdr|in-package|test\w*|is|fn|cons|list|else)(?:[\s(\[]|~~)")]),
    ("semicolon 1", [("(", r"[\w+*/<>=!?.:-]+ +[\"'(:\[\w#]")]),
    ("semicolon 2", [
        ("[", r"[^\n,]*\]\)+~~"),
        (":", r"[\w-]+ "),
    ]),
    ("semicolon 4", [("#", r"lang |[;:'\\]")]),
    ("ml 3", [("|", r" [^\n|]*? -> ")]),
    ("ml 2", [("|", r"> ")]),
    ("ml 5", [(";", ";$")]),
    ("dashes 3", [("|", r" [^\n|]*? = ")]),
    ("ml 4", [("|", r" [a-z]\w* (?:\([^\n]*\)|\w+) = ")]),
    ("dashes 1", [("|", r" [A-Z]\w*")]),
    ("batch 3", [(":", r"\w+~~")]),
    ("assembler 4", [(".", r"(?:text|data|globl|global|section|asciz?|ascii|word|byte|long|align|type|size|string|space|intel_syntax|extern|model|stack|code|equ|bss|file|arch|cpu|thumb|arm)\b")]),
    ("assembler 3", [("%", r"(?:define|macro|include|if|ifdef|endif|endmacro)\b")]),
    # C and what looks like it
    ("slashes 2", [
        ("public private protected internal static abstract final virtual override sealed extern unsigned typedef constexpr inline template volatile const register friend explicit", r"[ <][\w<*\[{]"),
        ("public private protected default", r":~~"),
        ("int void char bool boolean float double long short size_t auto string String byte wchar_t uint32_t uint8_t int64_t u8 ULONG DWORD", r"[\s*&<\[\]]+\w"),
        ("if while for foreach switch catch", r" *\([^\n]*\) *\{~~"),
        ("const var", r" \w+[^\n]* = "),
        ("return", ";"),
        ("return", r" *[({\[<]~~"),
    ]),
    ("slashes 1", [("if while for switch", r" *\(")]),
    ("slashes 3", [
        ("case", r" [^\n]*:~~"),
        ("else try do finally", r" *\{~~"),
        ("package", r" [\w]+~~| \w+(?:\.\w+)+~~| \w+(?:\.\w+)*;"),
        ("const let var", r" [\w{\[][^\n]*(?:;|\{|\(|=>)$"),
        ("class interface enum struct trait object record union extension protocol module actor", r" [^\n]*\{$"),
        ("function", r" *\w* *\([^\n]*\) *\{"),
        ("def", r" [^\n]*[={]~~"),
        ("val var", r" \w+: *[A-Z]"),
        ("case", r" (?:class|object) "),
        ("new return throw delete goto", r"[ ;][^\n]*;~~"),
    ]),
    ("slashes 4", [
        ("import", r" (?:static )?[\w.*]+;"),
        ("import", r" [^\n]* from *['\"]| *\(~~| *['\"]| *\*| *\{"),
        ("using namespace", r" [\w.:]+(?: = [^\n]*)?[;{]"),
        ("export", r" (?:default|const|function|class|type|interface|async|\{|\*)"),
        ("func fun init deinit guard", r"[ (][^\n]*\{~~"),
        ("func", r" "),
        ("println std System console Console printf cout cin fmt NSLog", r"(?:::|!\(|\.\w+[.(]|\(| *<<| *>>)"),
        ("module always assign wire reg endmodule input output initial", r"(?: [^\n]*;| *@| *\[|~~)"),
        ("contract pragma event modifier mapping address uint256 uint", r"[ (][^\n]*[;{]~~"),
    ]),
    ("slashes 1 ml 1", [("let val", r" \w+(?: *:[^\n=]*)? = ")]),
    # Rust, Zig
    ("lifetimes 5", [
        ("fn impl", r"[ <]"),
        ("pub unsafe", r"(?:\([a-z]+\))? (?:fn|struct|enum|trait|mod|impl|use|const|static|type|unsafe|extern|async)\b"),
        ("use extern mod", r" (?:std|crate|super|self|core|alloc)\b|\w+;| crate "),
        ("let", r" (?:mut |\w+: *(?:&|[iuf]\d+|Vec|String|Option|Box))"),
    ]),
    ("lifetimes 4", [
        ("match loop", r" [^\n]*\{~~| \{~~"),
        ("println print vec format assert assert_eq panic write writeln", r"!"),
    ]),
    ("lifetimes 3", [("enum struct trait", r" \w+(?:<[^\n]*>)? *(?:\{|;)~~")]),
    # PHP, HCL
    ("dollars 2", [("echo", r" [^\n]*;")]),
    ("dollars 3", [
        ("public private protected static function", r" (?:static )?(?:function )?[^\n]*\$\w"),
        ("foreach", r" *\(\$"),
        ("use namespace", r" \w+\\"),
    ]),
    ("dollars 4", [("resource variable provider output module data", r" *\"\"[^\n]*\{~~")]),
    # Python, Ruby, Perl, R, shells, Julia, Elixir, Tcl, PowerShell, YAML
    ("hash 5", [
        ("def class async", r" [^\n{;]*:~~"),
        ("from", r" [\w.]++ import "),
        ("if elif while until", r" [^\n]*; *(?:then|do)~~| *\[\[? "),
        ("for case", r" \w+ in [^\n:{]*(?:; *do)?~~| [^\n]* in~~"),
        ("my our", r" *[$@%(]"),
        ("use no", r" (?:strict|warnings|utf8|lib|constant|parent|base|vars|\d|v\d|[A-Z][\w:]*(?:;| qw| [\d'\"(]))"),
        ("sub", r" \w+[^\n]*\{"),
        ("library setwd suppressWarnings ggplot", r"\("),
        ("defmodule defp defmacro defstruct", " "),
    ]),
    ("hash 4", [
        ("if elif while for with try except else finally", r"[^\n{;?]*:~~"),
        ("elif", " "),
        ("fi done esac", r"~~| *[;|<>&]"),
        ("while", " read "),
        ("export local declare readonly", r" [\w-]+="),
        ("function", r" [\w-]+ *\{~~| [\w-]+ *\(\) *\{~~| \w+-\w+"),
        ("require require_relative attr_accessor attr_reader attr_writer gem", r" +[\"':]"),
        ("def", r" [\w.?!=<>+*\[\]-]++(?: *\([^\n)]*+\))?~~| [^\n]* do~~"),
        ("proc", r" [\w:]+\*?(?: *\{|\()"),
        ("param Param", r" *\("),
        ("Get Set New Write Remove Add Import Export Start Stop Invoke Out Select Where ForEach Test", r"-[A-Z]\w+"),
    ]),
    ("hash 3", [
        ("import", r" [a-z_][\w.]*(?: as \w+|, [^\n;]*)?~~"),
        ("pass raise yield del global nonlocal assert", r"~~| [^\n;:=]*~~"),
        ("if", r" [^\n;{:]*\$[^\n]*~~"),
        ("echo export printf set source sudo cd mkdir rm exec eval trap shift unset local readonly declare read grep sed awk cp mv exit cat test", r" [-\w\"'$./%{(][^\n;]*~~"),
        ("package", r" \w+(?:::\w+)+;| [A-Z]\w*;"),
        ("print say printf die push shift chomp unless elsif foreach open close", r" +[\"$@<\\{A-Z%][^\n]*;~~| *\(?[$@%]| my "),
        ("puts p include extend rescue ensure unless begin raise alias yield", r"~~| [\"'$\[A-Z:#@{\w][^\n;(]*~~"),
        ("class module", r" [A-Z][\w:]*(?: < [\w:]+)?~~"),
        ("using", r" [\w., :]+~~"),
        ("mutable abstract", r" (?:struct|type) "),
        ("set", r" [\w:]+ [\[\"$\w{]"),
        ("ifeq ifneq ifdef endif include override", r" *\(| \S+~~|~~"),
    ]),
    ("hash 2", [
        ("self cls", r"\."),
        ("print input", r"\([^\n;]*\)~~"),
        ("return", r" [^\n;{]*~~|~~"),
        ("then do", r"~~"),
        ("local", r" [$@%(]"),
        ("elseif", r" *\([^\n]*\$"),
    ]),
    # SQL
    ("dashes 5", [
        ("~select ~delete ~insert ~with", r" +(?:[\w.*\"@(`]+ *(?:,|~~| from| as| into|\()|distinct|from |into |top )(?i:)"),
        ("ALTER DROP GRANT SELECT DELETE INSERT UPDATE CREATE", r"\s|~~"),
        ("~create ~alter ~drop", r" +(?i:or replace |temp\w* |unique )?(?i:table|view|index|database|schema|function|procedure|trigger|sequence|type|role|extension|user|domain)\b"),
        ("~insert ~delete ~update", r" +(?i:into |from |\w+ set )"),
    ]),
    ("dashes 4", [("FROM WHERE VALUES HAVING UNION LIMIT SET AND OR ON ORDER GROUP JOIN LEFT INNER RETURNING PRIMARY FOREIGN", r"\s|~~")]),
    ("dashes 3", [
        ("~order ~group", r" +(?i:by) "),
        ("~left ~right ~inner ~outer ~join ~having ~values", r" +(?i:join|outer|\w+ on |count|\()"),
    ]),
    ("dashes 2", [("from where and", r" ++[\w.]++(?: [a-z])?(?:~~| *+[=<>,;])")]),
    # Ada, VHDL
    ("dashes 5", [
        ("~procedure ~function ~package ~task ~protected ~entity ~architecture", r" [^\n]*(?i:\bis~~|\breturn \w+| body | of \w+ is)"),
        ("~end", r" (?i:if|loop|case|record|process|entity|architecture|component|generate|[a-z]\w*);~~"),
        ("~with ~use ~library", r" [A-Za-z][\w.]*(?:, *[\w.]+)*;~~"),
        ("~signal ~port ~generic ~process ~component", r" *[\w(]"),
    ]),
    ("dashes 3", [
        ("~type ~subtype", r" \w+ (?i:is) "),
        ("~elsif ~if ~for ~while ~when ~loop", r" [^\n({]*\b(?i:then|loop)~~| [^\n]*=>"),
        ("~null ~exception ~is ~begin ~declare ~loop ~private", r"~~"),
        ("~return", r" [^\n({]*;~~"),
    ]),
    # Haskell, Elm, Idris
    ("dashes 5", [
        ("import", r" qualified | [A-Z][\w.]*(?: \(| exposing| as | hiding)"),
        ("module", r" [\w.]+ *(?:where|\(|exposing)|~~"),
        ("data newtype instance", r" [^\n;{]+~~"),
        ("main", r" = | ::"),
    ]),
    ("dashes 2", [
        ("import", r" [A-Z][\w.]*~~"),
        ("let in of then where", r"~~"),
    ]),
    ("dashes 4", [
        ("class", r" [^\n{;:]* where~~"),
        ("deriving where", r"(?: *\(| [A-Z]|~~)"),
        ("type", r" alias | [A-Z]\w*(?: [a-z]\w*)* = [A-Z\[(]"),
    ]),
    ("dashes 3", [("case", r" [^\n]* of~~")]),
    ("dashes 1", [("if then else", r" [^\n({;:]+~~")]),
    # Lua
    ("lua 5", [("local", r" function | \w+(?:, *\w+)* *(?:=(?!=)|~~)")]),
    ("lua 3 percent 1 hash 1", [("function", r" [\w.:]+ *\([^\n{]*\)~~")]),
    ("lua 2 pascal 1 ml 1", [("if", r" [^\n;{]*\bthen~~")]),
    ("lua 3", [
        ("elseif", r" [^\n;{]*\bthen~~"),
        ("repeat", r"~~"),
        ("until", " "),
        ("require print pairs table string", r"[ (.][^\n;]*~~"),
    ]),
    ("lua 4", [("for while", r" [^\n;:{]* do~~")]),
    ("lua 1 hash 1 percent 1", [("end", r"~~|[),]")]),
    ("lua 1 dashes 1", [("then do else", r"~~")]),
    ("lua 2", [("return", r" *(?:function\b|\{)")]),
    # Assembler
    ("assembler 4", [
        ("~mov ~add ~sub ~lea ~cmp ~xor ~and ~or ~test ~shl ~shr ~imul ~movq ~movl ~addl ~subl ~cmpl ~leal ~addq ~subq ~cmpq ~leaq ~xorl ~ldr ~str ~lw ~sw ~la ~li ~addi ~addu ~addiu ~beq ~bne ~slt ~move ~sll ~movb ~movzx ~out ~in ~sar ~cmove ~movaps ~mulps ~xchg ~rol ~adc ~sbb ~ldi", r"[ \t]+(?:(?:byte|word|dword|qword)[ \t]+(?:ptr )?)?[\w%$\[(#{*.&@-][^\n;=]*,"),
        ("~ret ~nop ~syscall ~leave ~retq ~cli ~sti ~hlt ~iret ~cld ~rts ~leaveq ~cdq ~cqo", r"~~"),
        ("~int", r"[ \t]+(?:0x\w+|\d+\w*h?)~~"),
        ("~section ~segment ~global ~extern ~bits ~org ~db ~dw ~dd ~dq ~resb ~resd ~resw ~equ ~assume ~proc ~endp ~public ~ends ~extrn ~use16 ~use32 ~title ~dosseg", r"[ \t]+[.\w\"'%]+(?:[ \t]*,[^\n;]*)?~~"),
    ]),
    ("assembler 3", [("~push ~pop ~call ~jmp ~je ~jne ~jz ~jnz ~jg ~jl ~jge ~jle ~ja ~jb ~inc ~dec ~mul ~div ~neg ~not ~pushq ~popq ~callq ~bl ~bx ~jal ~jr ~b ~loop ~idiv", r"[ \t]+[\w%.$@*]+~~")]),
    # MATLAB, Erlang, Prolog
    ("percent 6", [("function", r" *(?:\[[^\n\]]*\]|\w+) *= *\w+| \w+~~")]),
    ("percent 4", [
        ("for parfor", r" *\(?\w+ *= *[^\n;{]*:[^\n{]*$"),
        ("clc clear close hold figure grid axis xlabel ylabel plot subplot legend classdef properties methods disp", r"(?:;|~~| all| on| off|\(| +\w+)"),
        ("receive after fun", r"~~| \w+ ->~~"),
    ]),
    ("percent 3", [
        ("fprintf sprintf title error warning set zeros", r"\(\s*'"),
        ("if elseif while", r" [^\n{:]*(?:~=|==|&&|\|\|)[^\n{:]*[^\s{:n]~~"),
    ]),
    ("percent 2", [("end", r";~~")]),
    ("percent 1", [("if elseif while switch case otherwise", r"[^\n{:]*[^\s{:n]~~")]),
    # Fortran
    ("fortran 5", [
        ("~program ~subroutine ~module ~recursive ~pure ~elemental ~block", r" +\w+ *(?:\([^\n:;{]*\))?(?: *result *\(\w+\))?~~| +(?i:subroutine|function|data) "),
        ("~function", r" +\w+ *\([^\n;{]*\) *(?i:result) *\("),
        ("~end", r" *(?i:program|subroutine|function|do|if|module|select|type|interface|where)(?: +\w+)?~~"),
        ("~enddo ~endif ~endfunction ~implicit ~contains", r"~~| none| +(?i:real|integer)"),
        ("~integer ~real ~logical ~complex ~character ~double ~type ~class ~dimension ~common ~allocatable ~external ~intrinsic ~parameter ~equivalence", r"[^\n;{]*(?:::|\b(?i:precision)\b)| *[(*] *[\w=*]+ *\)?[ ,][^\n;{]*~~|  *[\w/]+(?:\([^\n]*\))?(?: *,[^\n;{]*)?~~"),
        ("~do", r" +(?:\d+ +)?\w+ *= *[^\n;]*,| +(?i:while) *\("),
    ]),
    ("fortran 4", [
        ("~write ~read ~open ~close ~allocate ~deallocate ~format ~inquire", r" *\([^\n;]*\)[^\n;{]*~~"),
        ("~print", r" *(?:\*|['\"(\d])[^\n;]*,"),
        ("~call", r" +\w+ *\([^\n;]*\)~~| +\w+~~"),
        ("~use", r" +\w+(?: *, *(?i:only) *:[^\n;]*)?~~"),
        ("~if ~else ~elseif", r" *(?i:if)? *\([^\n{]*\) *(?i:then|return|goto|go to|exit|cycle|call)\b"),
    ]),
    ("fortran 2", [("~stop ~return ~continue ~else ~exit ~cycle", r"~~")]),
    # Basic
    ("basic 6", [
        ("Dim ReDim DIM Imports Option OPTION", r" +\w+"),
        ("End END", r" +(?:Sub|Function|If|Module|Class|Select|Property|Try|With|While|Namespace|Enum|Structure|Get|Set|SUB|FUNCTION|IF|SELECT|TYPE)~~"),
    ]),
    ("basic 5", [
        ("Public Private Friend Protected Shared Sub Function Property Module Class Namespace Partial Overrides Declare SUB FUNCTION", r" +\w+"),
        ("If ElseIf IF ELSEIF", r" [^\n]*\b(?:Then|THEN)\b"),
    ]),
    ("basic 4", [
        ("Next NEXT Else Loop LOOP Wend WEND Try Catch Finally Exit CLS Do DO", r"~~| +(?:\w+|While [^\n]*|Until [^\n]*)~~| ex As"),
        ("For FOR", r" +(?:Each )?\w+"),
        ("Select Case SELECT CASE While WHILE GOTO GOSUB LET INPUT MsgBox WScript On ON Set Call Return Throw CONST Const", r"[ .(][^\n;{]*~~"),
        ("PRINT", r"(?! *\*)"),
    ]),
    # Batch
    ("batch 4", [
        ("~set", r" +(?:/[aApP] +)?\"?\w+="),
        ("~if ~for ~goto ~call ~exit ~setlocal ~endlocal ~pause ~echo ~shift ~popd ~pushd ~start", r" +(?i:not +)?(?i:exist|errorlevel|defined|/\w|\"?%|:\w|off~~|enabledelayed)[^\n]*~~|\.|~~| +[^\n]*%\w*%"),
    ]),
    ("batch 2", [("~goto ~copy ~del ~xcopy ~md ~cls ~title ~color ~ren", r"~~| +[\w\"\\*%/][^\n;]*~~")]),
    # OCaml, F#, Standard ML
    ("ml 5", [
        ("let", r" rec | \(\)| \w+ [\w(~?\[][^=\n]*=(?!=)| [^\n]* in~~| open "),
        ("match try", r" [^\n]* with~~|~~"),
        ("module structure signature functor datatype exception sig struct abstype", r"~~| [^\n{;]*~~"),
    ]),
    ("ml 3", [
        ("let and", r" \w[\w']*[^\n;=]*=[^\n;{(]*~~"),
        ("in with begin function end done", r"~~|;;~~"),
    ]),
    ("ml 4", [
        ("open include", r" [A-Z][\w.]*~~"),
        ("type and", r" (?:'\w+ |\('\w+[^\n]*\) )?[a-z]\w* *=~~| (?:'\w+ |\('\w+[^\n]*\) )?[a-z]\w* = (?![^\n]*;)"),
        ("fun val and", r" \w[\w']*[^\n{;]*=[^\n{]*~~| \w+ *:"),
        ("Printf Format List Array Hashtbl print_string print_endline print_int failwith", r"[. (][^\n]*~~"),
    ]),
    # Pascal
    ("pascal 5", [
        ("~program ~unit ~library", r" \w+(?: *\([^\n]*\))?;~~"),
        ("~uses", r" [\w., ]+[;,]~~|~~"),
        ("~procedure ~function ~constructor ~destructor", r" [\w.]+ *(?:\([^\n]*\))?(?: *: *\w+)?;"),
        ("~if ~while ~for ~with ~else ~until", r" [^\n]*(?i:\bthen begin|\bdo begin|:= [^\n]* (?i:to|downto) [^\n]*\bdo| do)~~"),
    ]),
    ("pascal 2", [
        ("~var ~const ~type", r"~~"),
        ("~if ~else", r" [^\n;{]*(?i:\bthen|begin)~~"),
    ]),
    ("pascal 4", [
        ("~interface ~implementation ~initialization ~record ~repeat", r"~~"),
        ("~end", r"\.~~|;~~| *(?i:else)~~"),
        ("~writeln ~readln ~write ~read ~inc ~dec", r" *\([^\n]*\);?~~|;~~"),
    ]),
    ("pascal 3 dashes 1", [("~begin", r"~~")]),
    # Any other word, by the first sign behind it; `?w` is a word behind it
    ("hash 4", [("?<", r"<- *(?:\w+\(|[\w\"\[-])(?![^\n]*;)")]),
    ("dashes 4", [
        ("?<", r"<= [^\n]*;~~"),
        ("?:", r": [\w( ][^\n]*->"),
    ]),
    ("dashes 5", [("?: ?, ?'", r"(?:'|, *\w+)* *:: ")]),
    ("pascal 3 dashes 2", [("?: ?. ?[ ?^", r"[\w.\[\]^, +-]* *:= *[^\n]*;~~")]),
    ("pascal 3", [("?: ?,", r"(?:, *\w+)* *: *(?i:integer|real|string|boolean|char|array|longint|double|byte)\b[^\n]*;")]),
    ("slashes 3", [("?: ?,", r"(?:, *\w+)* *:= *[^\n;]*~~")]),
    ("slashes 2", [
        ("?: ?-", r"[\w-]*: [^\n]*;~~"),
        ("?w ?* ?& ?<", r"(?=[^;{\n]*+[;{])[\w<>*&.]*[ *&]*\w+(?: *=[^\n]*)?(?:\([^\n]*\))? *[;{]~~"),
    ]),
    ("hash 1", [("?: ?- ?.", r"[\w.-]*:(?: [^\n;,{(]*)?~~")]),
    ("percent 4", [
        ("?( ?:", r"(?:\([^\n]*\))? *:-"),
        ("?(", r"\([^\n]*\)(?: when [^\n]*)? *->~~"),
    ]),
    ("percent 3", [
        ("?(", r"\([^\n()]*\)\.~~"),
        ("?= ?(", r"(?:\([^\n=]*\) *)?= *(?:\[[\w.-]+ [\w.-]|[\w.()]+ ?(?:\.\*|\./|\.\^|'))"),
    ]),
    ("percent 1", [("?=", r"= *\[[^\n]*\];~~")]),
    ("percent 2", [("?=", r"= [A-Z]?[^\n;{]*[^\n;{(\w],~~")]),
    ("hash 2", [
        ("?=", r"=(?![=>])[^\n;{]*[^\n;{,\s]~~"),
        ("?w ?.", r"[^\n]* do(?: *\|[^\n|]*\|)?~~"),
    ]),
    ("dashes 2", [("?w", r"\w[\w\[ ]* = [^\n;{]+~~")]),
    ("assembler 4", [("?w ?:", r":?[ \t]*(?i:db|dw|dd|dq|resb|resd|equ|proc|endp|segment|times)\b")]),
    ("slashes 1", [("?w ?( ?= ?. ?[ ?- ?+ ?* ?<", r"(?=[^;{\n]*+[;{])[^\n]*[;{]~~")]),
]
# fmt: on
"""Votes, with the words and what follows a word on its line; `~` before a word stands for it, the
same in capitals, and with the first letter so. All that fit a line vote."""


def _spellings(words: str) -> Iterable[str]:
    for word in words.split():
        plain = word.removeprefix("~")
        yield from {plain, *((plain.upper(), plain.capitalize()) if word[0] == "~" else ())}


def _votes(text: str) -> list[tuple[str, int]]:
    words = text.split()
    return [*zip(words[::2], map(int, words[1::2]), strict=True)]


_Votes = list[tuple[str, int]]
_ROWS: dict[str, list[str]] = {}
_VOTES: dict[str, list[_Votes]] = {}
"""What follows each word, and the votes of that."""
for _given, _lines in _LINES_OF:
    for _words, _behind in _lines:
        for _word in _spellings(_words):
            _ROWS.setdefault(_word, []).append(_behind)
            _VOTES.setdefault(_word, []).append(_votes(_given))
_GIVEN: dict[tuple[str, tuple[str | None, ...]], _Votes] = {}
"""The votes of the rows of a word that fit together."""
_NO_VOTES = dict.fromkeys(_FAMILIES, 0)
_VARIANTS_OF = {of: [one for one in _VARIANTS if _VARIANTS[one] == of] for of in _VARIANTS.values()}


@cache
def _pattern_of(family: str) -> re.Pattern[str]:
    """The comments of a family, each with an empty group at its end, and its strings."""
    comments, strings = _FAMILIES[family]
    blocks = [
        f"(?<={re.escape(begin[0])}){_between(begin, end).removeprefix(re.escape(begin[0]))}"
        for begin, end in _BLOCKS
        if not any(comment.startswith(re.escape(begin.strip())) for comment in comments)
    ]
    alone = "|".join([f"(?:{_ALONE})[^\n]*+", *blocks])
    comments = [*comments, f"{_FIRST_SIGN}(?:{alone})"]
    return re.compile("|".join([*(f"{mark}()" for mark in comments), *strings]), re.DOTALL)


@cache
def _after(word: str) -> Callable[[str], re.Match[str] | None]:
    """Match what follows a word: with an empty group for each of its rows that fits.

    A choice takes half the time of a group that may be missing.
    """
    rows = "".join(f"(?:(?={after})()|)" for after in _ROWS[word])
    return re.compile(rows.replace("~~", _END)).match


@cache
def _comment(mark: str) -> Callable[[str], re.Match[str] | None]:
    """Match what follows the mark of a comment, compiled when it is needed first."""
    return re.compile(_MARKS[mark][1]).match


def _add(votes: dict[str, int], word: str, rest: str) -> int:
    """Add the votes of a line that begins with a word of the table.

    Returns:
        The most votes that a family of the line has now; 0 if no row fits.
    """
    fits = _after(word)(rest).groups()  # type: ignore[union-attr]  # it matches any text
    given = _GIVEN.get((word, fits))
    if given is None:
        rows = zip(_VOTES[word], fits, strict=True)
        given = _GIVEN[word, fits] = [vote for row, fit in rows if fit is not None for vote in row]
    most = 0
    for family, count in given:
        votes[family] = count = votes[family] + count
        if count > most:
            most = count
    return most


def _counted(sample: str) -> dict[str, int]:
    """The votes for each family, of as many lines as are needed."""
    votes = _NO_VOTES.copy()
    if "/*" in sample:  # also behind code
        votes["slashes"] = _COMMENT
    last, others = "", []
    # Not all lines at once: those of most texts are known after a dozen.
    for match in _TOKEN.finditer(sample):
        word, rest = line = match.groups()
        if word in _MARKS and _comment(word)(rest):
            if word != last:
                votes[_MARKS[word][0]] += _COMMENT
            last = word
            continue
        last = ""
        if word in _ROWS and (most := _add(votes, word, rest)):
            if most >= _ENOUGH:
                return votes
        else:
            others.append(line)
    second, first = sorted(votes.values())[-2:]
    if first >= _CLEAR and first >= 3 * second:
        return votes
    for word, rest in others:
        if word[0].isalpha():
            behind = rest.lstrip()
            key = "?w" if behind[:1].isalnum() else f"?{behind[:1]}"
            if key in _ROWS:
                _add(votes, key, behind)
    return votes


def family_of(text: str) -> str:
    """The family of languages with the comments that a text seems to have."""
    sample = "\n" + text[:_SAMPLE]
    if "\r" in sample:
        sample = sample.replace("\r\n", "\n").replace("\r", "\n")
    votes = _counted(_APART.sub(_taken_out, _without_heredocs(sample)))
    groups = votes.copy()
    for variant, of in _VARIANTS.items():
        groups[of] += groups[variant]
        groups[variant] = 0
    group = max(groups, key=groups.__getitem__)
    variants = [one for one in _VARIANTS_OF.get(group, ()) if votes[one] >= _DECIDING]
    return max(variants, key=votes.__getitem__, default=group)


_HEREDOC = re.compile(r"<<[-~<]?[ \t]?([\"'`]?)([A-Za-z_]\w*)\1")
_LAST_LINES = re.compile(r"\n[ \t]*+(\w++)[;),. \t\r]*+(?=\n|\Z)")


def _without_heredocs(text: str) -> str:
    """The text with the lines of heredocs as strings, at their places."""
    sign = text.find("<")  # one sign is found ten times as fast as two
    while sign >= 0 and not text.startswith("<", sign + 1):
        sign = text.find("<", sign + 2)
    if sign < 0:
        return text
    ends: dict[str, list[int]] = {}
    for match in _LAST_LINES.finditer(text):
        ends.setdefault(match[1], []).append(match.start())
    parts, begun, done = [], 0, 0
    for match in _HEREDOC.finditer(text):
        if begun <= match.start() < done:
            continue
        after = max(match.end(), done + 1)  # of two on one line, the second begins behind the first
        lines = ends.get(match[2], [])
        index = bisect_left(lines, after)
        if index < len(lines) and (start := text.index("\n", after) + 1) < lines[index]:
            parts += [text[done:start], tokens.QUOTE, tokens.QUOTED * (lines[index] - start - 1)]
            begun, done = start, lines[index]
    return "".join([*parts, text[done:]])


_SHORT = 512
_SHORT_STRINGS = [tokens.QUOTE.ljust(length, tokens.QUOTED) for length in range(_SHORT)]
"""The marks for strings of up to 511 characters. Looking one up takes half the time of making it:
`_blanked_as` takes an eighth less for 100 MB of Python."""


def _blank(match: re.Match[str]) -> str:
    length = len(match[0])
    if match.lastindex:
        return " " * length
    if length < _SHORT:
        return _SHORT_STRINGS[length]
    return tokens.QUOTE.ljust(length, tokens.QUOTED)


_WITH_HEREDOCS = ("hash", "dollars")


def blanked(text: str) -> str:
    """The text with blanks for comments, and marks for strings, at their places."""
    if tokens.FILES not in text:
        return _blanked(text)
    return tokens.FILES.join(map(_blanked, text.split(tokens.FILES)))


def _blanked(text: str) -> str:
    if "\r" in text and "\n" not in text:
        text = text.replace("\r", "\n")
    return _blanked_as(family_of(text), text)


def _blanked_as(family: str, text: str) -> str:
    if family in _WITH_HEREDOCS:
        text = _without_heredocs(text)
    return _pattern_of(family).sub(_blank, "\n" + text)[1:]
