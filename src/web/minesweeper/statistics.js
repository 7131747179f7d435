// localStorage["minesweeper <board>"] = {games, wins, streak, longest, best: seconds, rate: 3BV per second,
// latest: [{won, seconds, at: milliseconds, game: its address}]}
window.minesweeperStatistics = {
  key: null,
  read() { try { return JSON.parse(localStorage.getItem(this.key)) || {}; } catch { return {}; } },
  add(won, seconds, bv) {
    const s = this.read(), count = name => Number(s[name]) || 0, rate = bv / (seconds = Math.max(seconds, .001));
    const streak = won ? count('streak') + 1 : 0;
    localStorage.setItem(this.key, JSON.stringify({
      games: count('games') + 1, wins: count('wins') + won, streak, longest: Math.max(streak, count('longest')),
      best: won ? Math.min(seconds, count('best') || Infinity) : count('best'),
      rate: won ? Math.max(rate, count('rate')) : count('rate'),
      latest: [{won, seconds, at: Date.now(), game: location.pathname}, ...s.latest || []].slice(0, 10)}));
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
    document.querySelector('.ms-statistics ol')?.replaceChildren(...(s.latest || []).map(game => {
      const row = document.createElement('li'), link = document.createElement('a'), at = new Date(game.at);
      link.href = String(game.game).startsWith('/minesweeper') ? game.game : '/minesweeper';
      link.textContent = `${game.won ? 'Won' : 'Lost'} in ${Number(game.seconds).toFixed(2)} s`;
      row.append(link, ` · ${at.toLocaleDateString([], {day: 'numeric', month: 'short'})}`);
      return row;
    }));
  },
  reset() { localStorage.removeItem(this.key); this.show(); },
};
