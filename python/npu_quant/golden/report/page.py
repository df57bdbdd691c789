"""A page of its own: what a report looks like, how the table of folders sorts; loads nothing."""

from __future__ import annotations

from ... import __version__
from ..._text import escaped

_STYLE = """
:root { color-scheme: light dark; --page: #f6f6f4; --card: #fff; --ink: #1d2023; --soft: #5c636b;
  --line: #dfe1e4; --accent: #2f5fb3; --identical: #2f8a4e; --tie: #16808c; --variant: #a86a08;
  --tolerated: #7457a8; --different: #c23b27; --wash: 12%; }
@media (prefers-color-scheme: dark) { :root { --page: #121417; --card: #1b1e22; --ink: #e7e9ec;
  --soft: #a0a7b0; --line: #32373d; --accent: #86b0f5; --identical: #63bf83; --tie: #4fbcc8;
  --variant: #e0a54a; --tolerated: #b39ae4; --different: #f0806d; --wash: 20%; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 28px 20px 40px; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 2px 0 6px; text-wrap: balance; }
h2 { font-size: 1.05rem; margin: 30px 0 10px; }
p { margin: 4px 0; }
h1, p, li, summary { overflow-wrap: anywhere; }
a { color: var(--accent); text-underline-offset: 2px; }
code, .name { font-family: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace;
  font-size: .9em; overflow-wrap: anywhere; }
.soft, footer { color: var(--soft); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 14px 18px; margin: 14px 0; }
.pass h1 { color: var(--identical); }
.fail h1 { color: var(--different); }
.bar { display: flex; gap: 2px; height: 14px; border-radius: 7px; overflow: hidden;
  margin: 4px 0 10px; }
.bar span { min-width: 5px; background: var(--c); }
.rung { color: var(--c); background: color-mix(in srgb, var(--c) var(--wash), transparent);
  border-radius: 5px; padding: 1px 8px; font-weight: 600; font-size: .86em; white-space: nowrap; }
.identical { --c: var(--identical); } .tie { --c: var(--tie); } .variant { --c: var(--variant); }
.tolerated { --c: var(--tolerated); } .different { --c: var(--different); }
.tools { display: flex; flex-wrap: wrap; gap: 8px 18px; align-items: center; margin: 8px 0 10px; }
input[type=search] { flex: 1 1 200px; max-width: 380px; min-width: 0; font: inherit; color: inherit;
  background: var(--card); border: 1px solid var(--line); border-radius: 7px; padding: 5px 10px; }
table.rows { width: 100%; border-collapse: collapse; background: var(--card); font-size: .92rem; }
.frame { border: 1px solid var(--line); border-radius: 10px; overflow: hidden; }
.rows th, .rows td { text-align: left; padding: 7px 10px; vertical-align: top; }
.rows td { border-top: 1px solid var(--line); }
.rows .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.rows .text { min-width: 5em; }
.rows .wide, .rows .name { min-width: 9em; overflow-wrap: anywhere; }
.rows tbody tr:hover { background: color-mix(in srgb, var(--accent) 7%, transparent); }
.rows th button { font: inherit; font-weight: 600; color: var(--soft); background: none; border: 0;
  padding: 0; cursor: pointer; white-space: nowrap; }
.rows th button::after { content: "↕"; opacity: .35; margin-left: 4px; }
.rows th[aria-sort] button { color: var(--ink); }
.rows th[aria-sort=ascending] button::after { content: "↑"; opacity: 1; }
.rows th[aria-sort=descending] button::after { content: "↓"; opacity: 1; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
details { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  margin: 8px 0; }
summary { cursor: pointer; padding: 10px 16px; }
details > div { padding: 2px 16px 14px; overflow-x: auto; }
details[open] > summary { border-bottom: 1px solid var(--line); margin-bottom: 10px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font-size: .85rem; }
footer { margin-top: 34px; font-size: .85rem; }
@media (max-width: 900px) {
  main { padding: 18px 12px 30px; }
  h1 { font-size: 1.35rem; }
  .rows thead tr { display: flex; flex-wrap: wrap; gap: 2px 16px; padding: 8px 12px; }
  .rows th { padding: 0; text-align: left; }
  .rows tbody tr { display: flex; flex-wrap: wrap; gap: 2px 14px; padding: 10px 12px;
    border-top: 1px solid var(--line); }
  .rows td { border: 0; padding: 0; }
  .rows td.wide, .rows td.name { flex: 1 0 100%; }
  .rows td.name, .rows td.verdict { order: -1; }
  .rows td:empty { display: none; }
  .rows td[data-label]::before { content: attr(data-label) " "; color: var(--soft); }
  .rows .number { text-align: left; }
  .rows .text { min-width: 0; }
  .rows tbody tr[hidden] { display: none; }
}
@media print { .tools { display: none; } body { background: none; } }
"""

# Sorting by numbers or texts, what has none last; a filter; links open what they lead to.
SCRIPT = """
const table = document.querySelector("table.rows"), body = table.tBodies[0];
const heads = [...table.tHead.rows[0].cells];
const numberOf = text => parseFloat(text.replaceAll(",", ""));
const order = (a, b, numbers) => numbers ? numberOf(a) - numberOf(b)
  : a.localeCompare(b, "en", {numeric: true});
heads.forEach((head, i) => head.querySelector("button").addEventListener("click", () => {
  const down = head.getAttribute("aria-sort") === "ascending";
  const numbers = head.classList.contains("number");
  const rows = [...body.rows].map(row => [row.cells[i].textContent, row]);
  rows.sort(([a], [b]) => (a === "") - (b === "")
    || (a === "" ? 0 : (down ? -1 : 1) * order(a, b, numbers)));
  heads.forEach(other => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  body.append(...rows.map(([, row]) => row));
}));
const words = document.querySelector("#words"), failing = document.querySelector("#failing");
const count = document.querySelector("#count");
const filter = () => {
  const wanted = words.value.toLowerCase();
  let left = 0;
  for (const row of body.rows) {
    row.hidden = (failing.checked && "passed" in row.dataset)
      || !row.textContent.toLowerCase().includes(wanted);
    left += !row.hidden;
  }
  count.textContent = left === body.rows.length ? "" : left + " of " + body.rows.length;
};
words.addEventListener("input", filter);
failing.addEventListener("change", filter);
const reveal = () => {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
};
addEventListener("hashchange", reveal);
reveal();
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def whole_page(title: str, body: str, *, passed: bool, script: str = "") -> str:
    """Return a page that loads nothing, whatever stands in it.

    Args:
        title: plain text.
        body: HTML.
        passed: whether what it shows is a pass.
        script: `SCRIPT`, where the body has a table of the class "rows" and its tools.
    """
    script = f"<script>{script}</script>\n" if script else ""
    footer = f"<footer>npu_quant {escaped(__version__)} · npu-quant compare</footer>"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>{escaped(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<main class="{"pass" if passed else "fail"}">{body}{footer}</main>\n{script}'
        "</body>\n</html>\n"
    )
