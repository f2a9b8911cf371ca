'use strict';
// Shows the groups of the page, some at a time. Contents of documents become text nodes and
// attributes, never markup.
(() => {
  const PER_PAGE = 20;
  const SHOWN = 6;
  const MORE = 50;
  // Maximum number of groups on paper; they are printed completely.
  const PRINTED = 500;
  // A run of unchanged text longer than FOLD characters is folded, except its ends.
  const FOLD = 320;
  const ENDS = 110;

  const place = document.getElementById('groups');
  const groups = JSON.parse(document.getElementById('data').textContent);
  const find = document.getElementById('find');
  const order = document.getElementById('order');
  const differing = document.getElementById('differing');
  const status = document.getElementById('status');
  const pagers = [...document.querySelectorAll('.pager')];
  const { link, image, judged } = place.dataset;
  const isJudged = judged !== undefined;
  const noun = isJudged ? 'Pair' : 'Group';
  const nouns = isJudged ? ['pair', 'pairs'] : ['group', 'groups'];
  groups.forEach((group, at) => { group.rank = at + 1; });
  let chosen = groups;
  let page = 0;
  let isPrinted = false;

  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(key, '');
      else if (value !== false && value !== undefined) element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  };
  const button = (text, action, attributes = {}) => {
    const element = make('button', { type: 'button', ...attributes }, text);
    element.addEventListener('click', action);
    return element;
  };
  const grouped = count => String(count).replace(/\B(?=(\d{3})+$)/g, '\u00a0');
  const counted = (count, one, many) => `${grouped(count)}\u00a0${count === 1 ? one : many}`;

  // The address of a document by a template, if its scheme is https, http or file.
  const address = (template, { id, fingerprint }) => {
    if (!template || (id === undefined && template.includes('{id}'))) return undefined;
    const escaped = () => id.split('/').map(encodeURIComponent).join('/');
    const isWhole = template.startsWith('{id}');
    const text = template.replaceAll(/\{(id|fingerprint)\}/g, (_, name, at) =>
      name === 'fingerprint' ? fingerprint : isWhole && at === 0 ? id : escaped());
    try {
      const url = new URL(text, location.href);
      return ['https:', 'http:', 'file:'].includes(url.protocol) ? url.href : undefined;
    } catch {
      return undefined;
    }
  };

  // The first text of a group, with which the others are compared.
  const base = group => group.documents.find(each => each.text !== undefined);
  const isSame = parts => parts.every(part => typeof part === 'number' && part > 0);
  const differs = group => group.documents.some(({ parts }) => parts && !isSame(parts));
  // The whole text of a document.
  const textOf = (group, each) => {
    if (!each.parts) return each.text ?? '';
    const first = base(group).text;
    let at = 0;
    return each.parts.map(part => {
      if (typeof part === 'string') return part;
      const start = at;
      at += Math.abs(part);
      return part > 0 ? first.slice(start, at) : '';
    }).join('');
  };

  // Unchanged text between two changes, folded if it is long.
  const same = (text, isStart, isEnd) => {
    if (text.length <= FOLD) return [text];
    // Cuts at a space if one is near, and never within a character.
    const cut = at => {
      const space = text.lastIndexOf(' ', at);
      return space > at - 25 ? space : /[\udc00-\udfff]/.test(text[at]) ? at - 1 : at;
    };
    const before = isStart ? 0 : cut(ENDS);
    const after = isEnd ? text.length : cut(text.length - ENDS);
    const hidden = text.slice(before, after);
    const fold = button(`\u22ef ${counted(hidden.length, 'character', 'characters')} the same \u22ef`, () => {
      const whole = make('span', { tabindex: -1 }, hidden);
      fold.replaceWith(whole);
      whole.focus();
    }, { class: 'fold' });
    return [text.slice(0, before), fold, text.slice(after)];
  };

  const compared = (first, parts) => {
    const box = make('div', { class: 'text', dir: 'auto' });
    let at = 0;
    parts.forEach((part, number) => {
      if (typeof part === 'string') return box.append(make('ins', {}, part));
      const text = first.slice(at, at + Math.abs(part));
      at += Math.abs(part);
      if (part < 0) return box.append(make('del', {}, text));
      box.append(...same(text, number === 0, number === parts.length - 1));
    });
    return box;
  };

  // The box of a text; initially only its first lines are shown.
  const shortened = (box, len) => {
    const lines = (box.textContent.match(/\n/g) ?? []).length;
    if (box.textContent.length <= len && lines <= len / 80) return [box];
    box.classList.add('short');
    const more = button('Show all of it', () => {
      const isShort = box.classList.toggle('short');
      more.textContent = isShort ? 'Show all of it' : 'Show less';
      more.setAttribute('aria-expanded', String(!isShort));
    }, { class: 'more', 'aria-expanded': 'false' });
    return [box, more];
  };
  const plain = text => shortened(make('div', { class: 'text', dir: 'auto' }, text), 800);
  const changed = (first, parts) => {
    const box = compared(first, parts);
    box.classList.add('changed');
    return shortened(box, 1800);
  };
  // A removal and the addition in its place are one change.
  const changes = parts => parts.filter((part, at) =>
    typeof part === 'string' ? !(parts[at - 1] < 0) : part < 0).length;

  const DOUBTS = {
    fingerprint: 'this text has another fingerprint: it was changed, or read in another way',
    namesakes: 'several texts have this id; the first is shown',
  };

  const name = each => {
    const shown = each.id === undefined ? make('i', {}, 'no id') : make('bdi', {}, each.id || '(an empty id)');
    const href = address(link, each);
    return href ? make('a', { href, target: '_blank', rel: 'noopener noreferrer' }, shown) : shown;
  };

  const picture = each => {
    const src = each.picture ?? address(image, each);
    if (!src) return [];
    const shown = make('img', { src, alt: `picture of ${each.id ?? each.fingerprint}`, loading: 'lazy', referrerpolicy: 'no-referrer' });
    shown.addEventListener('error', () => shown.replaceWith(make('span', { class: 'none' }, 'no picture')));
    return [shown];
  };

  const content = (group, each) => {
    if (each.text !== undefined) return plain(each.text);
    if (!each.parts) return [];
    if (isSame(each.parts)) {
      const but = each.spaces ? ' but for white space' : '';
      return [make('p', { class: 'soft' }, `the same text${but}`)];
    }
    return changed(base(group).text, each.parts);
  };

  const row = (group, each, number) => {
    const facts = make('p', { class: 'line' }, make('span', { class: 'id' }, name(each)));
    const far = number === 0 ? 'representative' : counted(each.distance, 'bit', 'bits');
    // The heading of a judged pair already has the distance, and there is no representative.
    if (!isJudged) facts.append(make('span', { class: number === 0 ? 'badge first' : 'badge' }, far));
    if (each.similarity !== undefined && number > 0) {
      facts.append(make('span', { class: 'badge' }, `similarity ${each.similarity.toFixed(2)}`));
    }
    facts.append(make('code', {}, each.fingerprint));
    if (each.parts && !isSame(each.parts)) {
      facts.append(make('span', { class: 'soft' }, counted(changes(each.parts), 'change', 'changes')));
    }
    const item = make('li', {}, ...picture(each), make('div', { class: 'what' }, facts, ...content(group, each)));
    const notes = [];
    if (each.len !== undefined) {
      const shown = [...textOf(group, each)].length;
      notes.push(`the first ${grouped(shown)} of ${counted(each.len, 'character', 'characters')}`);
    }
    if (each.spaces && !isSame(each.parts)) {
      notes.push(`white space also differs in ${counted(each.spaces, 'place', 'places')}, not marked`);
    }
    if (each.doubt) notes.push(DOUBTS[each.doubt]);
    if (notes.length) item.lastChild.append(make('p', { class: 'soft' }, notes.join('; ')));
    return item;
  };

  const card = group => {
    const { rank, number, size, diameter, exact, documents } = group;
    const widest = `${diameter}${exact ? '' : ' or more'}`;
    const apart = diameter === 0 ? 'equal fingerprints'
      : `${isJudged ? '' : 'at most '}${widest}\u00a0${widest === '1' ? 'bit' : 'bits'} apart`;
    const head = make('h2', {},
      make('a', { href: `#group-${number}` }, `${noun} ${grouped(rank)}`),
      make('span', { class: 'soft' }, isJudged ? apart : `${counted(size, 'document', 'documents')}, ${apart}`),
      ...(isJudged ? []
        : [make('span', { class: 'soft', title: 'its number in the rows of cluster' }, `number ${grouped(number)}`)]));
    const hasPictures = image || documents.some(each => each.picture);
    const list = make('ol', { class: hasPictures ? 'documents pictures' : 'documents' });
    const box = make('article', { id: `group-${number}`, tabindex: -1, 'aria-label': `${noun} ${rank}` }, head, list);
    let shown = 0;
    const show = count => {
      const rows = documents.slice(shown, shown + count).map((each, at) => row(group, each, shown + at));
      list.append(...rows);
      shown += rows.length;
      return rows[0];
    };
    show(isPrinted ? documents.length : hasPictures ? 24 : SHOWN);
    if (shown < documents.length) {
      const words = () => `Show ${grouped(Math.min(MORE, documents.length - shown))} more of ${grouped(size)}`;
      const more = button(words(), () => {
        const first = show(MORE);
        first.tabIndex = -1;
        first.focus();
        if (shown === documents.length) more.replaceWith(...rest());
        else more.textContent = words();
      }, { class: 'more' });
      box.append(more);
    } else {
      box.append(...rest());
    }
    // The script of judgements adds its buttons.
    document.dispatchEvent(new CustomEvent('card', { detail: { group, box } }));
    function rest() {
      const left = size - documents.length;
      return left > 0 ? [make('p', { class: 'soft' }, `This page does not hold ${counted(left, 'more document', 'more documents')} of this group.`)] : [];
    }
    return box;
  };

  const draw = () => {
    const last = Math.max(0, Math.ceil(chosen.length / PER_PAGE) - 1);
    page = Math.min(Math.max(page, 0), last);
    const start = isPrinted ? 0 : page * PER_PAGE;
    const end = Math.min(start + (isPrinted ? PRINTED : PER_PAGE), chosen.length);
    place.replaceChildren(...chosen.slice(start, end).map(card));
    const of = chosen.length === groups.length ? '' : ` of ${grouped(groups.length)}`;
    status.textContent = groups.length === 0 ? '' : chosen.length === 0 ? `No ${nouns[0]} has this.`
      : `${counted(chosen.length, ...nouns)}${of}` +
        (last > 0 ? `, ${grouped(start + 1)} to ${grouped(end)} shown` : '');
    for (const pager of pagers) {
      pager.hidden = last === 0;
      const go = to => () => { page = to; draw(); window.scrollTo(0, 0); };
      const number = make('input', { type: 'number', min: 1, max: last + 1, value: page + 1, 'aria-label': 'Page' });
      number.addEventListener('change', () => go((Number.parseInt(number.value, 10) || 1) - 1)());
      pager.replaceChildren(
        button('\u2190', go(page - 1), { disabled: page === 0, 'aria-label': 'Previous page' }),
        make('span', {}, 'page ', number, ` of ${grouped(last + 1)}`),
        button('\u2192', go(page + 1), { disabled: page === last, 'aria-label': 'Next page' }));
    }
  };

  // The searched text of a group in lower case, made at the first use.
  const lowered = new WeakMap();
  const haystack = group => {
    if (!lowered.has(group)) {
      const words = group.documents.map(each => `${each.id ?? ''}\n${each.fingerprint}\n${textOf(group, each)}`);
      lowered.set(group, words.join('\n').toLowerCase());
    }
    return lowered.get(group);
  };
  const ORDERS = {
    size: () => 0,
    diameter: (a, b) => b.diameter - a.diameter,
    number: (a, b) => a.number - b.number,
  };
  const choose = () => {
    const wanted = find.value.trim().toLowerCase();
    chosen = groups.filter(group =>
      (!differing?.checked || differs(group)) && (!wanted || haystack(group).includes(wanted)));
    chosen.sort(ORDERS[order.value]);
    page = 0;
    draw();
  };

  // Shows the group named by the address of the page.
  const follow = () => {
    const named = /^#group-(\d+)$/.exec(location.hash);
    if (!named) return;
    const isIt = group => String(group.number) === named[1];
    if (!chosen.some(isIt) && groups.some(isIt)) {
      find.value = '';
      if (differing) differing.checked = false;
      choose();
    }
    const at = chosen.findIndex(isIt);
    if (at < 0) return;
    page = Math.floor(at / PER_PAGE);
    draw();
    const box = document.getElementById(`group-${named[1]}`);
    box.scrollIntoView();
    box.focus({ preventScroll: true });
  };

  // Moves to the next group, or with -1 to the previous one, also across pages.
  const step = by => {
    const cards = [...place.children];
    const now = cards.findIndex(box => box.contains(document.activeElement));
    let to = now < 0 && by < 0 ? 0 : now + by;
    if (to < 0 || to >= cards.length) {
      const before = page;
      page += by;
      draw();
      if (page === before) return;
      to = by > 0 ? 0 : place.children.length - 1;
    }
    const box = place.children[to];
    box?.focus({ preventScroll: true });
    box?.scrollIntoView({ block: 'start' });
  };
  const turn = by => {
    page += by;
    draw();
    window.scrollTo(0, 0);
    place.firstElementChild?.focus({ preventScroll: true });
  };
  const KEYS = {
    '/': () => find.focus(),
    j: () => step(1),
    k: () => step(-1),
    n: () => turn(1),
    p: () => turn(-1),
  };
  document.addEventListener('keydown', event => {
    const isTyped = event.target.closest?.('input, select, textarea');
    if (isTyped && event.key === 'Escape') return event.target.blur();
    if (isTyped || event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  let timer;
  find.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(choose, 150); });
  order.addEventListener('change', choose);
  differing?.addEventListener('change', choose);
  addEventListener('hashchange', follow);
  for (const name of ['beforeprint', 'afterprint']) {
    addEventListener(name, () => { isPrinted = name === 'beforeprint'; draw(); });
  }
  document.querySelector('.tools').hidden = groups.length === 0;
  draw();
  follow();
})();
