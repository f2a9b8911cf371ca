'use strict';
// Takes judgements of the pairs that groups.js shows, and saves them as labels. Contents of
// documents become text, never markup.
(() => {
  const CHOICES = [
    ['y', '1', 'One document'],
    ['d', '0', 'Different ones'],
    ['u', '-1', 'Cannot say'],
  ];
  const save = document.getElementById('save');
  const status = document.getElementById('judged');
  const place = document.getElementById('groups');
  const pairs = JSON.parse(document.getElementById('data').textContent);
  const nameOf = ({ documents }) => documents.map(each => each.id).join('\t');

  // A browser may refuse to store data; then the judgements are lost when the page is closed.
  const kept = `fpstore judgements of ${document.title}`;
  const judgements = new Map();
  try {
    for (const [name, label] of JSON.parse(localStorage.getItem(kept) ?? '[]')) {
      if (pairs.some(pair => nameOf(pair) === name)) judgements.set(name, label);
    }
  } catch { /* start without judgements */ }

  const show = () => {
    const count = judgements.size;
    status.textContent = `${count} of ${pairs.length} judged`;
    save.disabled = count === 0;
  };
  const mark = box => {
    for (const button of box.querySelectorAll('.choices button')) {
      button.setAttribute('aria-pressed', String(judgements.get(box.dataset.name) === button.value));
    }
  };
  const judge = (box, label) => {
    const { name } = box.dataset;
    if (judgements.get(name) === label) judgements.delete(name);
    else judgements.set(name, label);
    try {
      localStorage.setItem(kept, JSON.stringify([...judgements]));
    } catch { /* not stored */ }
    mark(box);
    show();
    return judgements.has(name);
  };

  document.addEventListener('card', ({ detail: { group, box } }) => {
    box.dataset.name = nameOf(group);
    const choices = document.createElement('p');
    choices.className = 'choices line';
    choices.setAttribute('role', 'group');
    choices.setAttribute('aria-label', 'Judgement');
    for (const [key, label, words] of CHOICES) {
      const button = document.createElement('button');
      button.type = 'button';
      button.value = label;
      button.setAttribute('aria-keyshortcuts', key);
      button.append(words);
      button.addEventListener('click', () => judge(box, label));
      choices.append(button);
    }
    box.append(choices);
    mark(box);
  });

  // The focused pair, else the first pair on the screen without a judgement.
  const current = () => {
    const boxes = [...place.children];
    return boxes.find(box => box.contains(document.activeElement))
      ?? boxes.find(box => !judgements.has(box.dataset.name));
  };
  document.addEventListener('keydown', event => {
    const choice = CHOICES.find(([key]) => key === event.key);
    const isTyped = event.target.closest?.('input, select, textarea');
    const box = current();
    if (!choice || isTyped || event.ctrlKey || event.metaKey || event.altKey || !box) return;
    event.preventDefault();
    box.focus({ preventScroll: true });
    // Presses the key by which groups.js moves to the next pair, also on the next page.
    if (judge(box, choice[1])) document.dispatchEvent(new KeyboardEvent('keydown', { key: 'j' }));
  });

  save.addEventListener('click', () => {
    const lines = pairs.map(nameOf).filter(name => judgements.has(name));
    const text = lines.map(name => `${name}\t${judgements.get(name)}\n`).join('');
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type: 'text/tab-separated-values' }));
    link.download = 'labels.tsv';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
  show();
})();
