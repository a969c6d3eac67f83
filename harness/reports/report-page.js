// Filters by outcome and by words, opens what a link leads to, and copies commands. The page reads the same without it.
const chips = [...document.querySelectorAll('.chip')];
for (const chip of chips)
  chip.addEventListener('click', () => {
    const on = chip.getAttribute('aria-pressed') !== 'true';
    for (const other of chips) other.setAttribute('aria-pressed', String(other === chip && on));
    const wanted = on ? chip.dataset.outcome : undefined;
    for (const check of document.querySelectorAll('.check'))
      check.hidden = wanted !== undefined && check.dataset.outcome !== wanted;
    for (const section of document.querySelectorAll('.section')) {
      const any = [...section.querySelectorAll('.check')].some((check) => !check.hidden);
      section.hidden = !any;
      if (wanted !== undefined && any) section.open = true;
    }
  });
for (const button of document.querySelectorAll('.all')) {
  button.hidden = false;
  button.addEventListener('click', () => {
    const open = button.textContent === 'open all';
    for (const finding of button.closest('section').querySelectorAll('.finding')) finding.open = open;
    button.textContent = open ? 'close all' : 'open all';
  });
}
const show = () => {
  const anchor = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = anchor; at; at = at.parentElement) if (at.localName === 'details') at.open = true;
  (anchor?.closest('.finding') ?? anchor)?.scrollIntoView();
};
addEventListener('hashchange', show);
if (location.hash) show();
for (const link of document.querySelectorAll('a[href^="#"]')) link.addEventListener('click', () => setTimeout(show));
const search = document.querySelector('.search');
if (search) {
  const input = search.querySelector('input');
  const output = search.querySelector('output');
  search.hidden = false;
  search.addEventListener('submit', (event) => event.preventDefault());
  let texts;
  input.addEventListener('input', () => {
    texts ??= [...document.querySelectorAll('.finding,.check')].map((node) => ({
      node,
      text: node.textContent.toLowerCase(),
    }));
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const searching = words.length > 0;
    let found = 0;
    for (const { node, text } of texts) {
      const held = words.every((word) => text.includes(word));
      node.classList.toggle('unmatched', !held);
      if (held && searching) found += node.parentElement.closest('.finding') ? 0 : 1;
    }
    for (const section of document.querySelectorAll('.section')) {
      const any = section.querySelector('.check:not(.unmatched)') !== null;
      section.classList.toggle('unmatched', !any);
      if (searching && any) section.open = true;
    }
    output.textContent = searching ? found + (found === 1 ? ' match' : ' matches') : '';
  });
}
for (const button of document.querySelectorAll('.copy')) {
  button.hidden = !navigator.clipboard;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = 'copied';
  });
}
