#!/usr/bin/env python3
"""validate.py SCHEMA.json DOCUMENT.json: checks a document against one of kreach's JSON Schemas.

Knows the part of draft 2020-12 that the schemas use, and refuses a schema that uses more, so that
nothing goes unchecked. Fields that the schema does not describe are errors here: every field that
is written must be documented. Only the standard library is needed.
"""
import json
import re
import sys

KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "required", "properties",
         "additionalProperties", "items", "enum", "const", "anyOf", "minimum", "maximum", "pattern"}


def kind_of(value):
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, int):
        return {"integer", "number"}
    if isinstance(value, float):
        return {"number"} | ({"integer"} if value.is_integer() else set())
    return {{str: "string", list: "array", dict: "object"}[type(value)]}


def check_object(root, schema, value, path):
    for key in schema.get("required", ()):
        if key not in value:
            yield f"{path}: '{key}' is missing"
    known = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for key, item in value.items():
        if key in known:
            yield from check(root, known[key], item, f"{path}.{key}")
        elif isinstance(others, dict):
            yield from check(root, others, item, f"{path}.{key}")
        elif "properties" in schema:
            yield f"{path}: '{key}' is not in the schema"


def check(root, schema, value, path):
    unknown = set(schema) - KNOWN
    if unknown:
        yield f"{path}: the schema uses {sorted(unknown)}, which this check does not know"
    if "$ref" in schema:
        yield from check(root, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], value, path)
    types = schema.get("type")
    if types is not None and not kind_of(value) & set([types] if isinstance(types, str) else types):
        yield f"{path}: {value!r} is not {types}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is not one of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{path}: {value!r} is not {schema['const']!r}"
    if "anyOf" in schema and all(list(check(root, s, value, path)) for s in schema["anyOf"]):
        yield f"{path}: {value!r} fits no alternative"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            yield f"{path}: {value!r} is out of range"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{path}: {value!r} does not match {schema['pattern']}"
    if isinstance(value, dict):
        yield from check_object(root, schema, value, path)
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            yield from check(root, schema["items"], item, f"{path}[{i}]")


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    with open(sys.argv[2], encoding="utf-8") as file:
        document = json.load(file, parse_constant=refuse_constant)
    if list(document)[:2] != ["schema", "schema_version"]:
        sys.exit("'schema' and 'schema_version' do not come first")
    problems = list(check(schema, schema, document, "$"))
    for problem in problems[:20]:
        print(problem)
    sys.exit(1 if problems else 0)


main()
