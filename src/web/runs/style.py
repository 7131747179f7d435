"""CSS of the Runs page."""

CSS = """
.lab-main { max-width: 1800px; }
.r-card { background: var(--card); border: 1px solid var(--line); border-radius: .9rem; padding: .8rem 1rem;
  margin-bottom: 1rem; min-width: 0; }
.r-card h1, .r-card h2 { margin: 0; padding: 0; line-height: 1.3; letter-spacing: 0; }
.r-card h2 { font-size: 1rem; font-weight: 600; }
.r-card a:not(figure a) { color: var(--r-link); display: inline-flex; align-items: center; min-height: 44px;
  min-width: 44px; }
.r-bar { display: flex; flex-wrap: wrap; gap: .6rem .8rem; align-items: center; }
.r-card .q-field__control, .r-card .q-field__marginal, .r-card .q-toggle { min-height: 44px; }
.r-card .q-btn { min-height: 44px; min-width: 44px; }
.r-filter { min-width: 14rem; } .r-columns { width: 12rem; } .r-size { width: 7.5rem; }
.r-columns .q-field__native { flex-wrap: nowrap; overflow: hidden; }
.r-columns .q-field__native > span { display: none; }
.r-status { min-width: 9rem; }
.r-fault { color: var(--r-fault); overflow-wrap: anywhere; }
:root { --r-fault: #b34700; --r-link: #0072B2; } body.body--dark { --r-fault: #ff9d5c; --r-link: #56B4E9; }
@layer base { .r-card .q-field--error .text-negative, .r-card .q-field--error .q-field__label {
  color: var(--r-fault) !important; } }  /* as in src/web/style.py */
.r-filter-fault { min-height: 1.4rem; }
/* The height of a page of rows is kept while they are read. */
.r-table { background: transparent; color: var(--ink); min-height: 29.5rem; }
.r-table td, .r-table th { padding: 0 .5rem !important; height: 44px !important; text-align: left; white-space: nowrap;
  font-variant-numeric: tabular-nums; border-color: var(--line); }
.r-table td { cursor: pointer; } .r-table tbody tr:hover > * { background: var(--board); }
.r-table .r-long { max-width: 14rem; overflow: hidden; text-overflow: ellipsis; }
.r-table .r-frozen { position: sticky; left: 0; z-index: 2; background: var(--card); font-weight: 500;
  border-right: 1px solid var(--line); }
.r-table .r-chosen > * { background: var(--board); }
.r-frozen label { display: flex; align-items: center; gap: .5rem; min-height: 44px; cursor: pointer; }
.r-frozen label span { white-space: normal; overflow-wrap: anywhere; line-height: 1.2; width: max-content;
  max-width: 20rem; }
.r-frozen input { width: 20px; height: 20px; flex: none; accent-color: var(--blue); }
.r-swatch { width: .8rem; height: .8rem; border-radius: .2rem; flex: none; }
.r-sort { background: none; border: 0; color: var(--ink); font: inherit; font-weight: 600; cursor: pointer;
  min-height: 44px; min-width: 44px; padding: 0; text-align: left; white-space: nowrap; }
.r-sort:focus-visible, .r-frozen input:focus-visible, .r-scroll:focus-visible, .r-config:focus-visible,
.r-smooth input:focus-visible {
  outline: 2px solid var(--sky); outline-offset: 2px; }
.r-place { min-width: 8rem; text-align: center; font-variant-numeric: tabular-nums; }
.r-metric, .r-group, .r-objective { min-width: 14rem; } .r-axis, .r-band { min-width: 11rem; }
.r-smooth { display: flex; align-items: center; gap: .5rem; min-height: 44px; }
.r-smooth input { accent-color: var(--blue); width: 9rem; height: 44px; }
.r-meaning { min-height: 2.6rem; margin: 0; overflow: hidden; display: -webkit-box; -webkit-line-clamp: 2;
  -webkit-box-orient: vertical; }
.r-grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(27rem, 100%), 1fr)); gap: 1rem;
  margin-top: .8rem; }
.r-grid:has(> :only-child) { grid-template-columns: 1fr; }
.r-chart-card { min-width: 0; border: 1px solid var(--line); border-radius: .7rem; padding: .3rem .6rem .6rem; }
.r-chart-head { display: flex; align-items: center; } .r-chart-head h2 { flex: 1; overflow-wrap: anywhere; }
.r-chart { width: 100%; height: 20rem; }
.r-sweep .r-chart { height: 26rem; min-width: 40rem; } .r-sweep .r-chart-card { overflow-x: auto; margin-top: .6rem; }
.r-details { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 0 1rem; }
.r-name { font-weight: 600; overflow-wrap: anywhere; margin-bottom: .4rem; }
.r-scroll { overflow: auto; max-height: 30rem; margin-top: .4rem; }
.r-differences { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; }
.r-differences th, .r-differences td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line);
  font-weight: 400; max-width: 16rem; overflow-wrap: anywhere; }
.r-differences thead th { position: sticky; top: 0; background: var(--card); font-weight: 600; z-index: 1; }
.r-differences th:first-child { position: sticky; left: 0; background: var(--card); font-weight: 500; z-index: 2; }
.r-scores { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
.r-scores th { text-align: right; font-weight: 500; color: var(--faint); font-size: .8rem; }
.r-scores td { text-align: right; padding: .15rem 0; border-top: 1px solid var(--line); }
.r-scores td:first-child, .r-scores th:first-child { text-align: left; }
.r-tags { display: flex; flex-wrap: wrap; gap: .4rem; align-items: center; }
.r-tag { border: 1px solid var(--line); background: var(--board); border-radius: 1rem; padding: .1rem .7rem; }
.r-notes { white-space: pre-wrap; overflow-wrap: anywhere; }
.r-editor { width: min(36rem, 92vw); } .r-editor .q-btn { min-height: 44px; }
.r-pictures { display: flex; flex-wrap: wrap; gap: .6rem; margin-top: .6rem; }
.r-pictures figure { margin: 0; max-width: 100%; min-width: 6rem; width: min(var(--width), 22rem * var(--ratio)); }
.r-pictures img { width: 100%; max-width: var(--width); aspect-ratio: var(--ratio); border-radius: .5rem;
  background: #fff; display: block; }
.r-config { max-height: 24rem; overflow: auto; margin: 0; padding: .6rem; border-radius: .5rem; font-size: .8rem;
  background: var(--board); white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 760px) {
  .r-card { padding: .6rem; }
  .r-frozen label span { max-width: 8.5rem; font-size: .8rem; }
  .r-filter, .r-columns, .r-metric, .r-group, .r-axis, .r-band, .r-objective { width: 100%; min-width: 0; }
  .r-status { min-width: 0; } .r-chart { height: 17rem; }
}
@media (max-height: 500px) { .r-chart { height: 15rem; } }
"""
