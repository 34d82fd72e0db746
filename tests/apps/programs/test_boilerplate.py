"""What does not count of programs and texts, beside marks that a person set line by line."""

from __future__ import annotations

import random

import pytest
from helpers import ended_if_hanging

from lshdb.apps.gate.gate import units_counted as counted
from lshdb.apps.passages.positions import units_of
from lshdb.apps.programs import boilerplate, families, tokens
from lshdb.apps.programs.boilerplate import (
    Stretch,
    in_program,
    in_text,
    unmatched,
    without,
)
from lshdb.text.shingling import Shingling

PROGRAMS = {
    "Python": """
- from __future__ import annotations
- import os, sys
- import numpy as np
- from . import (
-     a,  # why
-     b,
- )
- from .x import c, \\
-     d
+ important = from_x(import_y)
+ def f(a): return a
+ text = '''
+ import in a string
+ '''
+     import_module("x")
-     import json
""",
    "Java": """
- package org.example.app;
- import java.util.*;
- import static org.junit.Assert.assertEquals;
+ public class A { int packages = 1; }
""",
    "C": """
- #include <stdio.h>
- #  include "a.h"
- #pragma once
+ #define X 1
+ #if X
+ int include(int x) { return x; }
""",
    "C++": """
- #include <vector>
- using namespace std;
- using a::b;
- using T = std::vector<int>;
- namespace a::b {
- namespace {
- inline namespace v1
- {
+ int using_it = 1;
+ }
""",
    "C#": """
- using System;
- using static System.Math;
- global using X = System.Text;
- namespace A.B
- {
+ class C {
+ void f() { using (var x = g()) { h(x); }
+ using (var y = g()) { h(y); }
+ using var z = g(1, 2);
+ }
""",
    "Go": """
- package main
- import "fmt"
- import (
-     "os"
-     x "strings"
- )
+ func main() { fmt.Println(os.Args) }
""",
    "Rust": """
- use std::io;
- pub use crate::a::{b, c::{
-     d, e},
-     f};
- pub(crate) mod inner;
- extern crate serde;
+ mod tests { fn g() { let used = 1; } }
+ fn use_it(mode: u8) -> u8 { mode }
""",
    "JavaScript": """
- import React, { useState } from 'react';
- import * as x from "x";
- import {
-   a,
-   b as c,
- } from './a';
- import './style.css';
- export * from './b';
- export { d } from './d';
- const fs = require('fs'), path = require('path');
- const {
-   e,
- } = require("e");
+ export const f = import_it('x');
+ export { g };
+ import('./lazy').then(h);
+ const i = required('x');
""",
    "TypeScript": """
- import type { A } from './a';
- import b = require('b');
- export type { C } from "./c";
+ export interface D { important: string; }
""",
    "PHP": """
+ <?php
- namespace App\\Http;
- use App\\Models\\{User, Post};
- use function App\\f;
- require_once __DIR__ . '/x.php';
+ $f = function () use ($x) { return $x; };
""",
    "Ruby": """
- require 'json'
- require_relative "x"
+ required = load_it(json)
+ class A; end
""",
    "Kotlin": """
- package a.b
- import kotlin.math.*
- import a.B as C
+ fun main() { println("x") }
""",
    "Swift": """
- import Foundation
- @testable import App
- import struct A.B
+ func imported() -> Int { return 1 }
""",
    "Perl": """
- package A::B;
- use strict;
- use A qw(a b
-   c);
- no warnings;
+ my $use = 1;
""",
    "Lua": """
- local json = require "json"
- local x = require('x.y')
+ local y = required(x)
""",
}


def lines_that_count(text: str) -> list[int]:
    """The lines with tokens that count, from 0."""
    blanked = families.blanked(text)
    found = tokens.cut_tokens([without(blanked, in_program(text, blanked))])
    lines = set[int]()
    for start, stop in zip(*(places.tolist() for places in found.places()), strict=True):
        lines.update(range(text.count("\n", 0, start), text.count("\n", 0, stop) + 1))
    return sorted(lines)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("language", PROGRAMS)
def test_imports_and_packages_of_a_language(language: str, end: str) -> None:
    marked = PROGRAMS[language].strip("\n").split("\n")
    text = end.join(line[2:] for line in marked) + end
    expected = [number for number, line in enumerate(marked) if line.startswith("+")]
    assert lines_that_count(text) == expected


TABLE = "".join(f"    {{ {row}, -0x{row:02x}, 'name {row}', true }},\n" for row in range(8))


def test_runs_of_literals_are_tables_and_the_arguments_of_a_call_are_none() -> None:
    program = f"static const struct row rows[] = {{\n{TABLE}}};\nint f(int a) {{ return a; }}\n"
    assert lines_that_count(program) == [0, 8, 9, 10]
    call = 'f(\n    1, 2, "a",\n    4, 5, x,\n    7,\n)\n'
    assert lines_that_count(call) == [0, 1, 2, 3, 4]
    line = "x = [" + ", ".join(map(str, range(200))) + "]\n"
    found = counted(line + "y = f(x)\n" * 200, Shingling.parse("code:6-boilerplate"))
    assert found.left_out == {"tables": len("x=[") + 399}
    assert found.units == len("]") + 200 * len("y=f(x)")
    minified = counted(line + "y = f(x)\n", Shingling.parse("code:6-boilerplate"))
    assert minified.left_out == {"generated": 409}
    names = "".join(f"NAME_{index} = 'value'\n" for index in range(10))
    assert lines_that_count(f"import a\n{names}x = f(y)\n") == [11]


@pytest.mark.parametrize(
    "mark",
    [
        "// Code generated by protoc-gen-go. DO NOT EDIT.",
        "# @generated",
        "/* A Bison parser, made by GNU Bison 3.8.2. */",
        "# This file was automatically generated by SWIG",
        "# Generated by Django 3.2 on 2024-01-01. Do not edit by hand",
        "/* GENERATED CODE: do not modify */",
    ],
)
def test_a_generated_file_says_so_at_its_beginning(mark: str) -> None:
    text = f"// Copyright\n{mark}\nint x = f(y);\n"
    assert in_program(text, families.blanked(text)) == [Stretch(0, len(text), "generated")]
    late = "int x = f(y);\n" * 400 + mark
    for other in (
        late,
        "# Signals are generated for each change.\n# Edit the generated list.\nx = 1\n",
    ):
        assert in_program(other, families.blanked(other)) == []


@pytest.mark.parametrize("sign", ["#", "//", "/*", " * ", "--", "<!--", ".."])
def test_regions_between_markers(sign: str) -> None:
    text = f"int a;\n{sign} lshdb: ignore-start why\nint b;\n{sign} lshdb: ignore-end\nint c;\n"
    (region,) = [one for one in in_program(text, text) if one.reason == "ignored"]
    assert text[region.start : region.stop].count("int") == 1
    assert unmatched(text, text) == []
    assert [one.reason for one in in_text(text)] == ["ignored"]


def test_markers_without_counterpart_are_named_and_those_in_strings_are_none() -> None:
    text = "# lshdb: ignore-end\na = 1\n# lshdb: ignore-start\nb = 2\n# lshdb: ignore-start\n"
    blanked = families.blanked(text)
    assert unmatched(text, blanked) == [(1, "end"), (3, "start"), (5, "start")]
    assert lines_that_count(text) == [1]
    quoted = 'a = "# lshdb: ignore-start"\nb = lshdb: ignore-start\n'
    assert in_program(quoted, families.blanked(quoted)) == []


TERMS = (
    "Permission is hereby granted, free of charge, to any person\n\nAND NONINFRINGEMENT ... "
    "OTHER DEALINGS IN THE SOFTWARE."
)


def test_licences_of_texts() -> None:
    whole = "MIT License\n\nCopyright (c) 2020 Ann\n\nmore\n"
    assert in_text(whole) == [Stretch(0, len(whole), "licences")]
    text = f"Copyright 2020 Ann.\nAll rights reserved.\n\nA manual.\n\nText.\n\n{TERMS}\n\nRest.\n"
    left = without(text, in_text(text))
    assert left.split() == ["A", "manual.", "Text.", "Rest."]
    assert len(left) == len(text)
    about = "How to choose a name.\n\nFirst.\n\nSecond.\n\nThe licence is on another page.\n"
    assert in_text(about) == []


def test_what_is_left_out_is_counted_by_its_reason() -> None:
    text = "import a\n# lshdb: ignore-start\nx = 1\n# lshdb: ignore-end\ny = x + 2\n"
    kept = Shingling.parse("code:6-boilerplate")
    assert str(kept) == "code:6-boilerplate"
    found = counted(text, kept)
    assert (found.units, found.left_out) == (5, {"imports": 2, "ignored": 3})
    assert counted(text, Shingling("code", 6)) == (10, {}, [])
    assert len(units_of([text], kept).starts) == 5


def test_stretches_are_in_order_and_apart_for_any_text() -> None:
    rng = random.Random(5)
    pieces = [
        *("import a\n", "{", "}", '"s", ', "1, " * 12, "\n", "from x import (", ")", "use a{"),
        *("# lshdb: ignore-start\n", "// lshdb: ignore-end\n", "x = f(y)\n", "namespace a {", ";"),
        *("Copyright (c) 2020\n\n", "SUCH DAMAGE", "\u00e9\u4e2d", "\r\n", "/*", "*/", "using a;"),
    ]
    for _ in range(400):
        text = "".join(rng.choices(pieces, k=rng.randrange(40)))
        blanked = families.blanked(text)
        for found in (in_program(text, blanked), in_text(text)):
            bounds = [bound for stretch in found for bound in stretch[:2]]
            assert [0, *bounds, len(text)] == sorted([0, *bounds, len(text)])
            assert all(s.start < s.stop and s.reason in boilerplate.REASONS for s in found)
        left = without(blanked, in_program(text, blanked))
        assert len(left) == len(blanked)


HOSTILE = {
    "a line": "x" * 200_000,
    "imports": "import a\n" * 8_000,
    "open imports": "from x import (\n" * 6_000,
    "open braces": "import {\n" * 8_000,
    "open uses": "use a::{\n" * 20_000,
    "braces": "}\n" * 60_000,
    "blank lines": "\n" * 200_000,
    "blanks": " " * 200_000,
    "numbers": "1," * 80_000,
    "numbers that are apart": f"1{' ' * 450}\n" * 400,
    "signs": "1\n" + "}\n" * 80_000,
    "few numbers": "1 2 3 4 5 6 7 8 9 x\n" * 10_000,
    "requires": "const " + "a = require('b'), " * 10_000,
    "continued": "import a \\\n" * 20_000,
    "markers": "# lshdb: ignore-start\n" * 8_000,
    "generated": "generated " * 20_000,
    "terms": "Permission is hereby granted\n" * 6_000,
    "copyrights": "copyright " * 20_000,
    "licences": "gnu " + "lesser " * 18_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_take_linear_time(name: str) -> None:
    text = HOSTILE[name] * 3
    with ended_if_hanging():
        in_program(text, text)
        in_text(text)
        unmatched(text, text)


def test_each_first_word_of_imports_is_known() -> None:
    for text in (
        "alias Foo.Bar",
        "autoload :A, S",
        "const a = require(S)",
        "export import a.b;",
        "export * from S;",
        "extern crate a;",
        "from a import b",
        "global using A;",
        "import a",
        "include S",
        "inline namespace a {",
        "internal import A",
        "let a = require(S)",
        "library(dplyr)",
        "load S",
        "local a = require S",
        "mod a;",
        "namespace a;",
        "no strict;",
        "package a.b;",
        "part of a;",
        "private import a;",
        "pub use a::b;",
        "public import A",
        "require S",
        "source(a.R)",
        "static import a;",
        "use a;",
        "using A;",
        "var a = require(S)",
        "#include <a>",
        "@import S;",
    ):
        blanked = text.replace("S", "\1")
        assert in_program(text, blanked) == [Stretch(0, len(text), "imports")], text
