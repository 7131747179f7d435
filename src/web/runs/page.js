// Quasar sets the class of the body far more often than the theme changes.
{ const dark = () => document.body.classList.contains('body--dark'); let before = dark();
  new MutationObserver(() => { if (dark() !== before) { before = dark(); emitEvent('theme'); } })
    .observe(document.body, {attributeFilter: ['class']}); }
// The rows of the table are built again with each update; the control that had the focus gets it back.
{ let key = null; const keyOf = e => e.target.closest?.('.r-table [data-key]')?.dataset.key;
  addEventListener('focusin', e => key = keyOf(e) ?? null);
  addEventListener('pointerdown', e => key = keyOf(e) ?? null);
  new MutationObserver(() => { if (key !== null && document.activeElement === document.body)
    document.querySelector(`.r-table [data-key="${CSS.escape(key)}"]`)?.focus(); })
    .observe(document.body, {childList: true, subtree: true}); }
