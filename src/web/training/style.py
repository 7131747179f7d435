"""CSS of the Training page, in addition to that of the Runs page, whose cards and charts it shows."""

CSS = """
.t-page { display: grid; grid-template-columns: minmax(min(22rem, 100%), 30rem) minmax(0, 1fr); gap: 0 1rem;
  align-items: start; }
.t-form { display: flex; flex-direction: column; gap: .7rem; }
.t-form .q-field__control { min-height: 44px; }
.t-command { display: flex; gap: .5rem; align-items: center; }
.t-command code { flex: 1; min-width: 0; overflow-wrap: anywhere; background: var(--board); color: var(--ink);
  border-radius: .5rem; padding: .6rem; font-size: .85rem; }
.t-checked { min-height: 1.4rem; overflow-wrap: anywhere; }
.t-job { margin-bottom: 1rem; }
.t-head { display: flex; flex-wrap: wrap; gap: .4rem .8rem; align-items: center; }
.t-head h2 { flex: 1; overflow-wrap: anywhere; }
.t-state { border: 1px solid var(--line); background: var(--board); border-radius: 1rem; padding: .1rem .7rem; }
.t-job progress { width: 100%; height: .8rem; appearance: none; border: 1px solid var(--faint); border-radius: .4rem;
  overflow: hidden; background: var(--board); }
.t-job progress::-webkit-progress-bar { background: var(--board); }
.t-job progress::-webkit-progress-value { background: var(--first); }
.t-job progress::-moz-progress-bar { background: var(--first); }
.t-log { max-height: 14rem; overflow: auto; background: var(--board); color: var(--ink); border-radius: .5rem;
  margin: .5rem 0 0; padding: .6rem; font-size: .8rem; white-space: pre-wrap; overflow-wrap: anywhere;
  display: flex; flex-direction: column-reverse; }  /* which shows the end */
.t-log:focus-visible { outline: 2px solid var(--sky); outline-offset: 2px; }
.t-job .r-chart { height: 15rem; }
.t-confirm { width: min(34rem, 92vw); } .t-confirm .q-btn { min-height: 44px; }
@media (max-width: 1000px) {
  .t-page { grid-template-columns: minmax(0, 1fr); }
  .t-page > [aria-label=trainings] { order: -1; }  /* to watch, which takes longer than to start */
}
"""
