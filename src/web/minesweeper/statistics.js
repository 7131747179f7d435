// localStorage["minesweeper <board>"] = {games, wins, streak, longest, best: seconds, rate: 3BV per second}
window.minesweeperStatistics = {
  key: null,
  read() { try { return JSON.parse(localStorage.getItem(this.key)) || {}; } catch { return {}; } },
  add(won, seconds, bv) {
    const s = this.read(), count = name => Number(s[name]) || 0, rate = bv / (seconds = Math.max(seconds, .001));
    const streak = won ? count('streak') + 1 : 0;
    localStorage.setItem(this.key, JSON.stringify({
      games: count('games') + 1, wins: count('wins') + won, streak, longest: Math.max(streak, count('longest')),
      best: won ? Math.min(seconds, count('best') || Infinity) : count('best'),
      rate: won ? Math.max(rate, count('rate')) : count('rate')}));
    this.show();
  },
  show() {
    const s = this.read(), number = name => Number(s[name]) || 0, games = number('games'), wins = number('wins');
    const text = {games, wins: games ? `${wins} (${Math.round(100 * wins / games)}%)` : 0,
      streak: `${number('streak')}, longest ${number('longest')}`,
      best: number('best') ? `${number('best').toFixed(2)} s` : '-',
      rate: number('rate') ? number('rate').toFixed(2) : '-'};
    for (const [name, value] of Object.entries(text)) {
      const place = document.querySelector(`.ms-statistics [data-name=${name}]`);
      if (place) place.textContent = value;
    }
  },
  reset() { localStorage.removeItem(this.key); this.show(); },
};
