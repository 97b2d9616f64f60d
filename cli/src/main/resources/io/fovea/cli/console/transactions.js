import { get } from './api.js';
import { Chart, SECONDS } from './chart.js';
import { count, error, h, table } from './dom.js';
import { micros, percent, short } from './activity.js';
import { poll, state } from './main.js';

// What helps if a cause is frequent.
const REMEDIES = {
  VALIDATION: 'getForUpdate on hot records; shorter transactions; shards',
  LOCK: 'getForUpdate on hot records; shorter transactions; shards',
  PHANTOM: 'narrower scans; a shard in front of the key',
  ORDER: 'the default protocol',
  HISTORY: 'shorter transactions; the default protocol',
  CATALOG: 'fewer catalog changes and large range deletes',
  ADMISSION: 'shed load; end stuck transactions',
  TIMEOUT: 'split the work',
  TOO_LARGE: 'split the work',
  USER: 'let exceptions pass',
};

let samples = [];

export async function transactions(root, parts, signal) {
  const charts = [
    [new Chart('Retries/s', ['retries'], short), p => [p.retries]],
    [new Chart('Attempts per commit', ['mean'], n => (n === 0 ? '0' : n.toFixed(2))), p => [p.attempts]],
    [new Chart('Mean duration', ['commits'], micros), p => [p.duration]],
    [new Chart('Oldest running', ['age'], micros), p => [p.oldest]],
  ];
  const problem = h('div');
  const tiles = h('div', { class: 'tiles' });
  const causes = h('div');
  root.append(h('h1', {}, 'Slow and retried transactions'), problem, tiles,
    h('div', { class: 'charts' }, charts.map(([c]) => c.element)),
    h('h2', {}, 'Aborted attempts by cause'), causes,
    h('p', { class: 'muted' }, 'These figures are sums over all transactions: the engine counts none per body. Its log names a body that was'
      + ' aborted 16 times, and each time that number has doubled, if the application names it: ',
    h('code', {}, 'db.run("transfer", tx -> ...)'), '.'));

  let asking = false;
  async function sample() {
    if (asking) {
      return;
    }
    asking = true;
    let now;
    try {
      now = await get('transactions');
    } catch (e) {
      problem.replaceChildren(error(e));
      return;
    } finally {
      asking = false;
    }
    if (signal.aborted) {
      return;
    }
    problem.replaceChildren();
    if (samples.length > 0 && (now.attached !== samples[0].attached || now.commits < samples.at(-1).commits)) {
      samples = []; // of another process, or of a database that was opened again
    }
    samples = [...samples, now].filter(s => now.millis - s.millis <= SECONDS * 1000);
    render(now);
  }

  function between(a, b) {
    const commits = b.commits - a.commits;
    const retries = b.retries - a.retries;
    return {
      at: b.millis / 1000,
      retries: 1000 * retries / (b.millis - a.millis),
      attempts: commits > 0 ? 1 + retries / commits : null,
      duration: commits > 0 ? (b.transactionNanos - a.transactionNanos) / commits / 1000 : null,
      oldest: b.oldestNanos / 1000,
    };
  }

  function render(now) {
    const points = samples.slice(1).map((s, i) => between(samples[i], s));
    charts.forEach(([chart, of]) => chart.draw(points.map(p => ({ at: p.at, values: of(p) }))));
    const tile = (name, text) => h('div', { class: 'tile' }, h('b', {}, text), h('span', {}, name));
    tiles.replaceChildren(
      tile('commits', count(now.commits)),
      tile('retries', count(now.retries)),
      tile('retries per commit', now.commits > 0 ? percent(100 * now.retries / now.commits) : '-'),
      tile('pessimistic attempts', count(now.pessimisticAttempts)),
      tile('mean duration', now.commits > 0 ? micros(now.transactionNanos / now.commits / 1000) : '-'),
      tile('running', count(now.active)),
      tile('waiting', count(now.waiting)),
      tile('oldest running', now.oldestNanos > 0 ? micros(now.oldestNanos / 1000) : '-'));
    const all = now.causes.reduce((sum, c) => sum + c.attempts, 0);
    const first = samples[0];
    const rate = c => {
      const before = first.causes.find(f => f.cause === c.cause)?.attempts ?? 0;
      return now.millis > first.millis ? short(1000 * (c.attempts - before) / (now.millis - first.millis)) : '-';
    };
    causes.replaceChildren(all === 0 ? h('p', { class: 'muted' }, 'None since the database was opened.')
      : table(['Cause', 'Attempts', 'Share', 'Per second', 'Retried', 'Why', 'If it is frequent'],
        now.causes.filter(c => c.attempts > 0).sort((a, b) => b.attempts - a.attempts).map(c => [
          c.cause.toLowerCase().replaceAll('_', ' '), count(c.attempts), percent(100 * c.attempts / all), rate(c), c.retried ? 'yes' : 'no',
          h('span', { class: 'prose' }, c.explanation), h('span', { class: 'prose' }, REMEDIES[c.cause] ?? '')]), [1, 2, 3]));
  }

  if (!state.info.write && !state.info.attached) {
    root.insertBefore(h('p', { class: 'muted' }, 'This console only reads, and its own figures follow. Those of an application appear if the'
      + ' console is started with --copy, and connected in the activity view.'), problem);
  }
  await sample();
  poll(signal, sample);
  return 'Slow and retried';
}
