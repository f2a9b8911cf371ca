'use strict';
// Shows which documents of the sample another threshold would keep. The page is complete without
// this script.
(() => {
  const bar = document.getElementById('bar');
  const status = document.getElementById('status');
  const articles = [...document.querySelectorAll('article[data-similarity]')];
  const count = document.querySelectorAll('article').length;
  const removed = Number(bar.dataset.removed);
  const grouped = count => String(count).replace(/\B(?=(\d{3})+$)/g, '\u00a0');
  const show = () => {
    const least = Number(bar.value);
    let kept = 0;
    for (const article of articles) {
      const isKept = Number(article.dataset.similarity) < least;
      article.classList.toggle('kept', isKept);
      article.querySelector('.fate').textContent = isKept ? 'would be kept' : 'removed';
      kept += isKept ? 1 : 0;
    }
    const part = kept / count;
    status.textContent = `With a similarity of ${least.toFixed(2)} or more, ${grouped(kept)} of the `
      + `${grouped(count)} documents of the sample would be kept, so about `
      + `${grouped(Math.round(part * removed))} of the ${grouped(removed)} that it was drawn from.`;
  };
  document.querySelector('.tools').hidden = false;
  bar.addEventListener('input', show);
  show();
})();
