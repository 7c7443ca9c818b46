// The theme's components are written as expressions in attributes, which Alpine would compile with `eval`.
// This reads them instead, so that the pages need no 'unsafe-eval': a small grammar, no access to constructors
// and prototypes, and of the page's own functions only those that the theme's script defines.
(() => {
  "use strict";

  const FORBIDDEN = new Set(["constructor", "__proto__", "prototype", "__defineGetter__", "__defineSetter__",
    "__lookupGetter__", "__lookupSetter__", "innerHTML", "outerHTML", "insertAdjacentHTML", "ownerDocument",
    "defaultView", "contentWindow", "srcdoc", "eval", "Function", "write", "writeln", "execScript"]);
  const GLOBALS = new Set(["Math", "localStorage", "getComputedStyle", "theme", "searchForm", "searchDropdown",
    "searchCommand", "sortRecords", "moveRecords", "getCurrentTab", "undefined", "JSON"]);
  const TOKEN = new RegExp([
    "\\s+", "(?<number>\\d+(?:\\.\\d+)?)", "(?<string>'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\")",
    "(?<template>`(?:[^`\\\\]|\\\\.)*`)", "(?<name>[A-Za-z_$][\\w$]*)",
    "(?<mark>=>|\\.\\.\\.|===|!==|==|!=|<=|>=|&&|\\|\\||\\?\\?|\\?\\.|\\+\\+|--|\\+=|-=|[-+*/%<>=!?:;,.(){}\\[\\]])",
  ].join("|"), "gy");
  const LEVELS = [["??"], ["||"], ["&&"], ["==", "!=", "===", "!=="], ["<", ">", "<=", ">="], ["+", "-"],
    ["*", "/", "%"]];
  const APPLY = {
    "==": (a, b) => a == b, "!=": (a, b) => a != b, "===": (a, b) => a === b, "!==": (a, b) => a !== b,
    "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b,
    "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b, "%": (a, b) => a % b,
  };
  const LAZY = { "??": (a, b) => a() ?? b(), "||": (a, b) => a() || b(), "&&": (a, b) => a() && b() };

  function tokens(text) {
    const found = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.length) {
      const at = TOKEN.lastIndex;
      const match = TOKEN.exec(text);
      if (!match) throw new SyntaxError(`not understood at ${at}: ${text}`);
      const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
      if (kind) found.push({ kind, text: match[0] });
    }
    return found;
  }

  const unquoted = (text) => text.slice(1, -1).replace(/\\(.)/gs, (_, c) => ({ n: "\n", t: "\t" })[c] ?? c);

  // What comes out of a parser is a function of a scope.
  class Parser {
    constructor(text) { this.rest = tokens(text); this.at = 0; }
    peek(offset = 0) { return this.rest[this.at + offset]?.text; }
    is(text) { const token = this.rest[this.at]; return token?.text === text && token.kind !== "string"; }
    take(text) { if (!this.is(text)) return false; this.at += 1; return true; }
    need(text) { if (!this.take(text)) throw new SyntaxError(`${text} expected, found ${this.peek()}`); }
    name() {
      const token = this.rest[this.at++];
      if (token?.kind !== "name") throw new SyntaxError(`a name expected, found ${token?.text}`);
      return token.text;
    }

    program() {
      const body = this.statements(() => this.at >= this.rest.length);
      return body;
    }
    statements(ended) {
      const list = [];
      while (!ended()) { if (!this.take(";")) list.push(this.statement()); }
      return (scope) => list.reduce((_, run) => run(scope), undefined);
    }
    statement() {
      if (this.is("if") && this.peek(1) === "(") return this.condition();
      // A brace begins a block only inside `if`: elsewhere it is an object.
      return this.expression();
    }
    condition() {
      this.need("if"); this.need("(");
      const test = this.expression();
      this.need(")");
      const then = this.branch();
      this.take(";");
      const otherwise = this.take("else") ? this.branch() : () => undefined;
      return (scope) => (test(scope) ? then(scope) : otherwise(scope));
    }
    branch() {
      if (!this.take("{")) return this.statement();
      const body = this.statements(() => this.take("}"));
      return body;
    }

    expression() {
      const arrow = this.arrow();
      if (arrow) return arrow;
      const left = this.choice();
      for (const mark of ["=", "+=", "-="]) {
        if (this.take(mark)) {
          if (!left.assign) throw new SyntaxError("this cannot be assigned to");
          const right = this.expression();
          return (scope) => left.assign(scope, mark === "=" ? right(scope)
            : APPLY[mark[0]](left(scope), right(scope)));
        }
      }
      return left;
    }
    arrow() {
      const begin = this.at;
      const names = [];
      if (this.rest[this.at]?.kind === "name" && this.peek(1) === "=>") names.push(this.name());
      else if (this.take("(")) {
        while (this.rest[this.at]?.kind === "name") { names.push(this.name()); if (!this.take(",")) break; }
        if (!this.take(")")) { this.at = begin; return null; }
      }
      if (!this.take("=>")) { this.at = begin; return null; }
      const body = this.is("{") ? this.branch() : this.expression();
      return (scope) => (...given) => body(inner(scope, Object.fromEntries(names.map((n, i) => [n, given[i]]))));
    }
    choice() {
      const test = this.binary(0);
      if (!this.take("?")) return test;
      const then = this.expression();
      this.need(":");
      const otherwise = this.expression();
      return (scope) => (test(scope) ? then(scope) : otherwise(scope));
    }
    binary(level) {
      if (level === LEVELS.length) return this.unary();
      let left = this.binary(level + 1);
      for (;;) {
        const mark = LEVELS[level].find((m) => this.is(m));
        if (!mark) return left;
        this.at += 1;
        const first = left;
        const second = this.binary(level + 1);
        left = mark in LAZY ? (s) => LAZY[mark](() => first(s), () => second(s))
          : (s) => APPLY[mark](first(s), second(s));
      }
    }
    unary() {
      if (this.take("!")) { const of = this.unary(); return (s) => !of(s); }
      if (this.take("-")) { const of = this.unary(); return (s) => -of(s); }
      if (this.take("typeof")) { const of = this.unary(); return (s) => typeof of(s); }
      return this.postfix();
    }
    postfix() {
      let left = this.primary();
      for (;;) {
        if (this.take(".") || this.take("?.")) {
          const mayMiss = this.rest[this.at - 1].text === "?.";
          const name = this.name();
          left = member(left, () => name, mayMiss);
        } else if (this.take("[")) {
          const key = this.expression();
          this.need("]");
          left = member(left, key, false);
        } else if (this.take("(")) {
          left = call(left, this.list(")"));
        } else if (this.is("++") || this.is("--")) {
          const by = this.rest[this.at++].text === "++" ? 1 : -1;
          const of = left;
          left = (s) => { const before = of(s); of.assign(s, before + by); return before; };
        } else return left;
      }
    }
    list(end) {
      const items = [];
      while (!this.take(end)) { items.push(this.expression()); if (!this.is(end)) this.need(","); }
      return items;
    }
    primary() {
      const token = this.rest[this.at++];
      if (!token) throw new SyntaxError("ends too early");
      if (token.kind === "number") { const value = Number(token.text); return () => value; }
      if (token.kind === "string") { const value = unquoted(token.text); return () => value; }
      if (token.kind === "template") return template(token.text);
      if (token.text === "(") { const of = this.expression(); this.need(")"); return of; }
      if (token.text === "[") {
        const items = this.list("]");
        return (s) => items.map((item) => item(s));
      }
      if (token.text === "{") return this.object();
      if (token.kind === "name") return variable(token.text);
      throw new SyntaxError(`not understood: ${token.text}`);
    }
    object() {
      const pairs = [];
      while (!this.take("}")) {
        const token = this.rest[this.at++];
        const key = token.kind === "string" ? unquoted(token.text) : token.text;
        pairs.push([key, this.take(":") ? this.expression() : variable(key)]);
        if (!this.is("}")) this.need(",");
      }
      return (s) => Object.fromEntries(pairs.map(([key, value]) => [key, value(s)]));
    }
  }

  function template(text) {
    const parts = text.slice(1, -1).split(/\$\{([^}]*)\}/);
    const read = parts.map((part, i) => (i % 2 ? new Parser(part).program() : () => part));
    return (scope) => read.map((of) => String(of(scope))).join("");
  }

  const WORDS = { true: true, false: false, null: null, undefined };

  function variable(name) {
    if (Object.hasOwn(WORDS, name)) return () => WORDS[name];
    const read = (scope) => {
      if (name in scope.names) return scope.names[name];
      if (name === "window" || name === "document") return page[name];
      if (GLOBALS.has(name)) return window[name];
      // A `const` of the theme's script is no property of the window.
      return undefined;
    };
    read.assign = (scope, value) => { scope.names[name] = value; return value; };
    read.owner = (scope) => (name in scope.names ? scope.names : undefined);
    return read;
  }

  // Of the window and the document only what the theme asks for.
  const page = {
    window: { get location() { return { pathname: location.pathname, search: location.search }; } },
    document: { getElementById: (id) => document.getElementById(id) },
  };

  function member(of, key, mayMiss) {
    const checked = (scope) => {
      const name = String(key(scope));
      if (FORBIDDEN.has(name)) throw new TypeError(`${name} is not for expressions`);
      return name;
    };
    const read = (scope) => {
      const object = of(scope);
      return mayMiss && (object === undefined || object === null) ? undefined : object[checked(scope)];
    };
    read.assign = (scope, value) => { of(scope)[checked(scope)] = value; return value; };
    read.owner = of;
    return read;
  }

  function call(of, given) {
    return (scope) => {
      const found = of(scope);
      if (typeof found !== "function") throw new TypeError("what is called is no function");
      return found.apply(of.owner ? of.owner(scope) : undefined, given.map((item) => item(scope)));
    };
  }

  const inner = (scope, names) => ({ names: Alpine.mergeProxies([names, scope.names]) });

  const parsed = new Map();
  function parse(text) {
    if (!parsed.has(text)) parsed.set(text, new Parser(text).program());
    return parsed.get(text);
  }

  function magics(el, stack) {
    if (Alpine.injectMagics) return Alpine.injectMagics({}, el);
    const names = () => Alpine.mergeProxies(stack);
    return {
      $el: el,
      $watch: (key, tell) => Alpine.watch(() => names()[key], tell),
      $dispatch: (name, detail = {}) => el.dispatchEvent(
        new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable: true })),
      get $refs() {
        const found = [];
        for (let node = el; node; node = (node._x_teleportBack ?? node).parentNode) if (node._x_refs) found.push(node._x_refs);
        return Alpine.mergeProxies(found);
      },
    };
  }

  function evaluate(el, expression, extras = {}) {
    const stack = Alpine.closestDataStack(el);
    const names = Alpine.mergeProxies([extras.scope ?? {}, magics(el, stack), ...stack]);
    if (typeof expression === "function") return { names, value: expression.apply(names, extras.params ?? []) };
    const value = parse(expression)({ names });
    return { names, value };
  }

  function evaluator(el, expression) {
    return (receive = () => {}, extras = {}) => {
      try {
        const { names, value } = evaluate(el, expression, extras);
        // An expression that names a function means its result.
        const named = typeof value === "function" && typeof expression !== "function" && !expression.includes("=>");
        receive(named ? value.apply(names, extras.params ?? []) : value);
      } catch (error) {
        console.error(`In “${expression}”: ${error.message}`);
      }
    };
  }

  document.addEventListener("alpine:init", () => {
    Alpine.setEvaluator(evaluator);
    if (Alpine.setRawEvaluator) {
      Alpine.setRawEvaluator((el, expression, extras) => evaluate(el, expression, extras).value);
    }
  });

  // Styles that are computed go past the text of an attribute, which the policy forbids.
  const setAttribute = Element.prototype.setAttribute;
  Element.prototype.setAttribute = function set(name, value) {
    if (name === "style") this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };

  // What htmx would put into the page by itself, or compile.
  if (window.htmx) {
    window.htmx.config.includeIndicatorStyles = false;
    window.htmx.config.allowEval = false;
    window.htmx.config.selfRequestsOnly = true;
  }
})();
