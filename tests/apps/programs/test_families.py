"""Programs become the same tokens whatever their comments and strings say, however they are cut."""

from __future__ import annotations

import re
from typing import NamedTuple

import oracles
import pytest
from helpers import ended_if_hanging, shingle
from hypothesis import example, given
from hypothesis import strategies as st

from lshdb.apps.passages.positions import cut
from lshdb.apps.programs import families
from lshdb.text.shingling import Shingling

SIGNS = [
    "// x",
    "/* x",
    "# x",
    "-- x",
    "% x",
    "; x",
    "! x",
    "<!-- x",
    "(* x",
    "{ x",
    "rem x",
    ":: x",
]
"""What begins a comment in some language."""
SAYS = "don't: if x == 1; then end (see foo) -- // # % ;"
"""What a comment says."""


class Language(NamedTuple):
    """A program, comments of its language for {}, and whether one may be behind code.

    The program has one string, XYZ.
    """

    program: str
    comments: list[str]
    behind_code: bool = True


LANGUAGES = {
    "Ada": Language(
        "with Ada.Text_IO; use Ada.Text_IO;\nprocedure Sums is\n   Total : Integer := 0;\nbegin\n"
        "   for I in A'Range loop\n      Total := Total + A (I);\n   end loop;\n"
        '   if C = \'"\' then\n      Put_Line ("XYZ");\n   end if;\nend Sums;\n',
        ["-- {}"],
    ),
    "assembler": Language(
        'section .data\nmsg db "XYZ", 10\nsection .text\nglobal _start\n_start:\n    mov eax, 4\n'
        "    mov ebx, 1\n    cmp eax, ';'\n    je done\n    int 0x80\ndone:\n    ret\n",
        ["; {}"],
    ),
    "batch": Language(
        '@echo off\nset name=%1\nif "%name%"=="" goto usage\nfor %%f in (*.txt) do copy "%%f" "XYZ"\n'
        "goto :eof\n:usage\necho usage: it's a name\npause\n",
        ["rem {}", ":: {}", "@REM {}"],
        False,
    ),
    "C": Language(
        "#include <stdio.h>\n\nint main(void)\n{\n    char c = '\"';\n    for (int i = 0; i < 9; i++) {\n"
        '        printf("XYZ");\n    }\n    return 0;\n}\n',
        ["// {}", "/* {} */"],
    ),
    "C++": Language(
        "#include <iostream>\nusing namespace std;\n\nint main() {\n    long n = 1'000'000, m = 2'500;\n"
        "    char c = '\\'';\n    vector<int> v;\n    cout << \"XYZ\" << endl;\n    return n / 2;\n}\n",
        ["// {}", "/* {} */"],
    ),
    "C#": Language(
        "using System;\n\nnamespace Shop\n{\n    public class Item\n    {\n        private char c = '\"';\n"
        '        public void Show()\n        {\n            Console.WriteLine("XYZ");\n        }\n'
        "    }\n}\n",
        ["// {}", "/// {}", "/* {} */"],
    ),
    "Clojure": Language(
        "(ns shop.core\n  (:require [clojure.string :as s]))\n\n(defn total [items]\n  (let [x \\;]\n"
        '    (println "XYZ")\n    (reduce + (map :price items))))\n',
        ["; {}", ";; {}"],
    ),
    "CSS": Language(
        "@media screen {\n  body { margin: 0; }\n}\n#main .menu > li:hover {\n  color: #fff;\n"
        '  content: "XYZ";\n  background: url(a/b.png);\n}\n',
        ["/* {} */"],
    ),
    "Elixir": Language(
        "defmodule Shop do\n  def total(items) do\n    items\n    |> Enum.map(fn x -> x.price end)\n"
        '    |> Enum.sum()\n  end\n\n  def show(x), do: IO.puts("XYZ")\nend\n',
        ["# {}"],
    ),
    "Erlang": Language(
        "-module(shop).\n-export([total/1]).\n\ntotal([]) -> 0;\ntotal([X | Rest]) ->\n"
        "    io:format(\"XYZ\"),\n    Y = 'an atom',\n    X + total(Rest).\n",
        ["% {}", "%% {}"],
    ),
    "F#": Language(
        "module Shop\n\nopen System\n\nlet rec total items =\n    match items with\n    | [] -> 0\n"
        '    | x :: rest -> x + total rest\n\nlet show (x: \'a) =\n    printfn "XYZ"\n',
        ["// {}", "(* {} *)"],
    ),
    "Fortran": Language(
        "program sums\n  implicit none\n  integer :: i, n\n  real, dimension(10) :: a\n  n = 10\n"
        "  do i = 1, n\n    a(i) = i * 2.0\n  end do\n  print *, 'XYZ', a(1)\nend program sums\n",
        ["! {}"],
    ),
    "Fortran 77": Language(
        "      PROGRAM SUMS\n      INTEGER I, N\n      REAL A(10)\n      DO 10 I = 1, N\n"
        "         A(I) = I * 2.0\n   10 CONTINUE\n      WRITE (*, *) 'XYZ'\n      STOP\n      END\n",
        ["C {}", "* {}", "c     {}"],
        False,
    ),
    "Go": Language(
        'package main\n\nimport "fmt"\n\nfunc main() {\n\tx := 1\n\tc := \'"\'\n\tfor i := 0; i < 9; i++ {\n'
        '\t\tfmt.Println("XYZ", x)\n\t}\n}\n',
        ["// {}", "/* {} */"],
    ),
    "Haskell": Language(
        "module Shop (total) where\n\nimport qualified Data.Map as M\n\ntotal :: [Int] -> Int\n"
        "total [] = 0\ntotal (x : xs) = x + total' xs\n  where total' = total\n\nmain :: IO ()\n"
        'main = do\n  let c = \'"\'\n  putStrLn "XYZ"\n',
        ["-- {}", "{{- {} -}}"],
    ),
    "HTML": Language(
        "<!DOCTYPE html>\n<html>\n<head>\n<style>\nbody { color: red; }\n</style>\n</head>\n<body>\n"
        '<p class="XYZ">It\'s a page.</p>\n<script>\nvar x = 1;\n</script>\n</body>\n</html>\n',
        ["<!-- {} -->"],
    ),
    "Java": Language(
        "import java.util.Scanner;\n\npublic class Sums {\n    public static void main(String[] args) {\n"
        '        int x = 1;\n        char c = \'"\';\n        System.out.println("XYZ");\n    }\n}\n',
        ["// {}", "/* {} */", "/** {} */"],
    ),
    "JavaScript": Language(
        "const fs = require('fs');\n\nfunction total(items) {\n  let sum = 0;\n"
        "  for (const x of items) {\n    sum += x.price;\n  }\n  const t = `two\n  // lines`;\n"
        '  if (/["\'/]/.test(t)) {\n    console.log("XYZ");\n  }\n  return sum;\n}\n',
        ["// {}", "/* {} */"],
    ),
    "Julia": Language(
        "using LinearAlgebra\n\nfunction total(items)\n    s = 0\n    for x in items\n        s += x.price\n"
        '    end\n    println("XYZ")\n    return s\nend\n',
        ["# {}"],
    ),
    "LaTeX": Language(
        "\\documentclass{article}\n\\begin{document}\n\\section{Sums}\nIt's 50\\% of the \\emph{total}.\n"
        '\\input{"XYZ"}\n\\end{document}\n',
        ["% {}"],
    ),
    "Lisp": Language(
        "(defun total (items)\n  (let ((sum 0))\n    (dolist (x items)\n      (setf sum (+ sum x)))\n"
        '    (print "XYZ")\n    (if (eq sum \'none) 0 sum)))\n',
        ["; {}", ";; {}", "#| {} |#"],
    ),
    "Lua": Language(
        "local M = {}\n\nfunction M.total(items)\n  local sum = 0\n  for _, x in ipairs(items) do\n"
        "    sum = sum + x\n  end\n  local s = [[it's\n-- text]]\n  print('XYZ')\n  return sum\nend\n\n"
        "return M\n",
        ["-- {}", "--[[ {} ]]"],
    ),
    "Make": Language(
        'CC = gcc\nOBJECTS = a.o b.o\n\nall: $(OBJECTS)\n\t$(CC) -o prog $(OBJECTS)\n\necho:\n\techo "XYZ"\n\n'
        ".PHONY: all\n",
        ["# {}"],
        False,
    ),
    "MATLAB": Language(
        "function s = total(x)\n  A = x' * x;\n  b = A(1, :)';\n  s = 0;\n  for i = 1:numel(x)\n"
        "    s = s + x(i);\n  end\n  disp('XYZ');\nend\n",
        ["% {}", "%% {}"],
    ),
    "MATLAB script": Language(
        "x = linspace(0, 1, 100);\ny = x.^2;\nz = [x; y]';\nfigure;\nplot(x, y);\ntitle('XYZ');\n",
        ["% {}"],
    ),
    "Nim": Language(
        "import strutils\n\nproc total(items: seq[int]): int =\n  result = 0\n  for x in items:\n"
        '    result += x\n  let c = \'"\'\n  return(result)\n\necho "XYZ"\n',
        ["# {}", "## {}", "#[ {} ]#"],
    ),
    "OCaml": Language(
        "open Printf\n\nlet rec total = function\n  | [] -> 0\n  | x :: rest -> x + total rest\n\n"
        "let show (f : 'a -> string) x =\n  let c = '\"' in\n  printf \"XYZ\"\n\n"
        "let () = print_int (total [1; 2])\n",
        ["(* {} *)"],
    ),
    "Pascal": Language(
        "program Sums;\nuses crt;\nvar\n  i, total: integer;\nbegin\n  total := 0;\n"
        "  for i := 1 to 10 do\n  begin\n    total := total + i;\n  end;\n  writeln('XYZ');\nend.\n",
        ["{{ {} }}", "(* {} *)", "// {}"],
    ),
    "Perl": Language(
        "use strict;\nuse warnings;\n\nsub total {\n    my ($items) = @_;\n    my $n = $#{$items};\n"
        '    foreach my $x (@$items) {\n        next if $x =~ /["#]/;\n    }\n    print "XYZ";\n'
        "    return $n;\n}\n",
        ["# {}"],
    ),
    "PHP": Language(
        "<?php\nnamespace Shop;\n\nfunction total(array $items) {\n    $sum = 0;\n"
        "    foreach ($items as $x) {\n        $sum += $x['price'];\n    }\n    echo \"XYZ\";\n"
        "    return $sum;\n}\n",
        ["// {}", "# {}", "/* {} */"],
    ),
    "PowerShell": Language(
        "param([string]$Name)\n\nfunction Get-Total {\n    $sum = 0\n    foreach ($x in $items) {\n"
        '        if ($x -gt 1) { $sum += $x }\n    }\n    Write-Host "XYZ"\n}\n',
        ["# {}", "<# {} #>"],
    ),
    "Prolog": Language(
        ":- use_module(library(lists)).\n\ntotal([], 0).\ntotal([X|Xs], S) :-\n    total(Xs, R),\n"
        '    write("XYZ"),\n    S is X + R.\n',
        ["% {}", "/* {} */"],
    ),
    "Python": Language(
        'import sys\n\n\ndef total(items):\n    """The sum.\n\n    // not -- a % comment\n    """\n'
        "    result = 0\n    for x in items:\n        result += x // 2\n    print(\"XYZ\", r'\\d', b'a')\n"
        "    return result\n",
        ["# {}"],
    ),
    "R": Language(
        "library(dplyr)\n\ntotal <- function(items) {\n  s <- 0\n  for (x in items) {\n    s <- s + x\n  }\n"
        '  print("XYZ")\n  s\n}\n',
        ["# {}"],
    ),
    "R with return": Language(
        "total <- function(items) {\n  if (is.null(items)) {\n    return(0);\n  }\n  s <- sum(items)\n"
        "  x <- items[[1]] %in% c(1, 2)\n  print('XYZ')\n  return(s)\n}\n",
        ["# {}", "#' {}"],
    ),
    "Ruby": Language(
        "require 'set'\n\nclass Shop\n  def total(items)\n    items.each do |x|\n      @sum += x\n    end\n"
        "    sql = <<~SQL\n      SELECT 'a -- don't\n    SQL\n    puts \"XYZ\"\n  end\nend\n",
        ["# {}", "\n=begin\n{}\n=end\n"],
        False,
    ),
    "Rust": Language(
        "use std::fmt;\n\nstruct Shop<'a> {\n    name: &'a str,\n}\n\nfn longest<'a>(x: &'a str) -> &'a str {\n"
        '    let c = \'"\';\n    println!("XYZ");\n    x\n}\n',
        ["// {}", "/// {}", "/* {} */"],
    ),
    "shell": Language(
        '#!/bin/bash\nset -e\n\nname=$1\nif [ -z "$name" ]; then\n  echo "XYZ"\n  exit 1\nfi\n'
        'cat <<EOF\nit\'s # not a comment\nEOF\nfor f in *.txt; do\n  wc -l "$f"\ndone\n',
        ["# {}"],
    ),
    "SQL": Language(
        "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT);\nINSERT INTO items VALUES (1, 'XYZ');\n"
        "SELECT name, count(*)\nFROM items\nWHERE id > 1 AND name <> 'it''s'\nGROUP BY name;\n",
        ["-- {}", "/* {} */"],
    ),
    "Verilog": Language(
        "module counter(input clk, output reg [3:0] q);\n  always @(posedge clk) begin\n"
        '    q <= q + 4\'b0001;\n    $display("XYZ");\n  end\nendmodule\n',
        ["// {}", "/* {} */"],
    ),
    "Visual Basic": Language(
        "Imports System\n\nModule Sums\n    Sub Main()\n        Dim total As Integer = 0\n"
        "        For i = 1 To 10\n            total += i\n        Next\n"
        '        Console.WriteLine("XYZ")\n    End Sub\nEnd Module\n',
        ["' {}", "REM {}"],
        False,
    ),
    "Vue": Language(
        '<template>\n  <p class="XYZ">It\'s {{ name }}</p>\n</template>\n\n<script>\nexport default {\n'
        "  data() {\n    return { x: 1 };\n  },\n};\n</script>\n",
        ["<!-- {} -->"],
    ),
    "YAML": Language(
        'name: shop\non:\n  push:\n    branches: [main]\njobs:\n  - run: echo "XYZ"\n  - name: it\'s a step\n',
        ["# {}"],
    ),
}


def tokens(text: str) -> str:
    return cut([text], "code").folded.rstrip(b"\0").decode()


def commented(language: Language) -> list[str]:
    """The program with one comment more, at each line, and behind each line of code."""
    lines = language.program.splitlines(keepends=True)
    outside = [0, *(i for i, line in enumerate(lines) if re.match(r"\w|\(|<|$", line))]
    texts = []
    for comment in language.comments:
        text = comment.format(SAYS.replace("--", "") if "<!--" in comment else SAYS)
        texts += ["".join([*lines[:i], text, "\n", *lines[i:]]) for i in outside]
        texts.append(language.program + text)
        if language.behind_code:
            texts.append(language.program[:-1] + "  " + text)
    return texts


@pytest.mark.parametrize("name", LANGUAGES)
def test_one_comment_more(name: str) -> None:
    expected = tokens(LANGUAGES[name].program)
    for text in commented(LANGUAGES[name]):
        assert tokens(text) == expected, text
        assert tokens(text.replace("\n", "\r\n")) == expected, text


@pytest.mark.parametrize("name", LANGUAGES)
def test_all_comments_dropped(name: str) -> None:
    program, comments, _ = LANGUAGES[name]
    lines = program.splitlines(keepends=True)
    outside = [i for i, line in enumerate(lines) if re.match(r"\w|\(|<|$", line)]
    for comment in comments:
        for i in outside:
            lines[i] = comment.format(SAYS.replace("--", "")) + "\n" + lines[i]
    assert tokens("".join(lines)) == tokens(program)


@pytest.mark.parametrize(
    "program",
    [
        "#include <a.h>\n#define A(x) #x\n# define B 1\n#if A\nint f(int i) {\n  --i;\n  return i-- % 2;\n}\n",
        "x = ('%s and '\n     % (a, b))\ny = a // b if c else d\nz = (' one' \n     ' two')\n",
        "case $x in\n  /*) y ;;\nesac\ngit checkout -- file\nz=1 ; export z\n! test -e a\n",
        "let f x =\n  a x\n  ; b x\n  ;;\n",
        "#main .menu > li {\n  --size: 1px;\n}\n#[derive(Debug)]\n",
        "x <- a %>% b\n!!x\n(*p)(1);\n  (* 2 x)\n",
    ],
)
def test_code_that_looks_like_a_comment_votes_for_none(program: str) -> None:
    assert not families.marks_of("\n" + program)


@pytest.mark.parametrize("name", LANGUAGES)
def test_what_a_string_says(name: str) -> None:
    program = LANGUAGES[name].program
    expected = tokens(program)
    assert "XYZ" in program
    assert tokens(re.sub(r"\b(total|shop|items|sum)\b", "name_2", program)) == expected
    for sign in SIGNS:
        for says in (sign, f"{sign} {sign}", sign * 9):
            assert tokens(program.replace("XYZ", says)) == expected, says


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("let f x = (* a (* b *) don't *) x\nlet () = f 2\n", "WWW=WW()=WN"),
        ("module A where\n{- a {- b -} don't -}\nf :: Int\nf = 2\n", "WWWW::WW=N"),
        ("(defun f (x)\n  #| a #| b |# don't |#\n x)\n", "(WW(W)W)"),
        ("my $x = <<A . <<'B';\n# a\nA\n# b\nB\nprint $x; # c\n", "W$W=<<W.<<S;SWSWW$W;"),
        ("=pod\n\nIt's text.\n\n=cut\n\nmy $x = 1;\nuse strict;\n", "W$W=N;WW;"),
        ("x = 1\r# old Mac's lines\rdef f(x):\r    return x\r", "W=NWW(W):WW"),
    ],
)
def test_comments_in_comments_and_lines_that_are_strings(program: str, expected: str) -> None:
    assert tokens(program) == expected


OPENING = [
    "<<A",
    "=/a[",
    "{|",
    "<!--",
    "/*",
    "(*",
    "{-",
    "#|",
    "--[[",
    '@"\n',
    "\n<#",
    "%{\n",
    "'",
    '"',
    "`",
]


@pytest.mark.parametrize("sign", ["", *SIGNS])
def test_what_is_opened_and_never_closed_takes_linear_time(sign: str) -> None:
    for mark in OPENING:
        text = f"{sign}\n" + mark * (100_000 // len(mark))
        with ended_if_hanging():
            assert len(families.blanked(text)) == len(text)


# tokens


PROGRAMS = st.text(st.sampled_from("ab1._ \n\t\\'\"`#/*-[]{;%<!>(\1\2\0\xe9\u4e2d"), max_size=40)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("  \n// only this", ""),
        ("int x1 = 10.5;  // ten\n", "WW=N;"),
        ("a = 'it\\'s' /* not\nthis */ + b;\n", "W=S+W;"),
        ('x = "never ended;\ny = 2;\n', "W=SW=N;"),
        ("x = 2; /* never ended\ny", "W=N;"),
        ("x = 'a\\", "W='W\\"),
        ('def f():\n    """One\n\'two\' """\n    return f"{x}" "y" # z', "WW():SWS"),
        ("#include <a.h>\n#define A 'b'\n", "#W<W.W>#WWS"),
        ("größe = 1..2; a.b(.5)", "W=N..N;W.W(.N)"),
    ],
)
def test_tokens(text: str, expected: str) -> None:
    assert tokens(text) == expected
    assert tokens(text.replace("\n", "\r\n")) == expected


@given(st.lists(PROGRAMS, max_size=6), st.integers(1, 9), st.integers(1, 20))
@example(['"a"' * 3 + "/b*", "\2a", "u'a'"], 1, 2)
def test_programs_in_batches_and_pieces(texts: list[str], size: int, block: int) -> None:
    kind = Shingling("code", size)
    units = cut(texts, "code") if texts else None
    first = 0
    for text in texts:
        alone = cut([text], "code")
        last = first + int(alone.counts[0])
        assert units is not None
        assert units.folded[first:last] == alone.folded[: last - first]
        assert units.starts[first:last].tolist() == alone.starts.tolist()
        spans = zip(alone.starts.tolist(), alone.stops.tolist(), strict=True)
        bounds = [bound for span in spans for bound in span]
        assert bounds == sorted(bounds)
        assert all(0 <= bound <= len(text) for bound in bounds)
        own = shingle([text], kind, 1).hashes.tolist()
        assert shingle([text], kind, 1, block).hashes.tolist() == own
        count = last - first
        assert len(own) == max(count - size + 1, min(count, 1))
        first = last


def test_the_hash_of_a_shingle_is_that_of_its_tokens_as_characters() -> None:
    hashes = shingle(["a = 1;"], Shingling("code", 3), 1).hashes.tolist()
    assert hashes == [oracles.shingle_hash(some, "char", 1) for some in ("W=N", "=N;")]


def test_a_line_of_a_megabyte_is_read_in_pieces() -> None:
    text = "f(a,'b');" * 200_000
    assert len(shingle([text], Shingling("code", 6), 1).hashes) == 7 * 200_000 - 5
