// Sorts the table by numbers or texts, what has none last; filters; links open what they lead to.
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
