// Returns every visible text whose contrast with its ground is below 4.5, by the formula of WCAG 2.
const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
const ground = (node) => {
  for (let here = node; here; here = here.parentElement) {
    const colour = parts(getComputedStyle(here).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3);
  }
  return [255, 255, 255];
};
const low = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const text = walker.currentNode.data;
  const node = walker.currentNode.parentElement;
  if (!text.trim() || !node.checkVisibility() || node.closest(":disabled, script, .stale")) continue;
  const own = parts(getComputedStyle(node).color).slice(0, 3);
  const [more, less] = [light(own), light(ground(node))].sort((x, y) => y - x);
  const ratio = (more + 0.05) / (less + 0.05);
  if (ratio < 4.5) low.push(`${ratio.toFixed(2)} ${node.tagName}.${node.className}: ${text.slice(0, 30)}`);
}
return low;
