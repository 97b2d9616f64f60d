import { send } from './api.js';
import { Chart } from './chart.js';
import { count, error, h, size, table, tile } from './dom.js';
import { reload, show, state } from './main.js';
import { Samples } from './samples.js';

export const short = n => (n >= 1e6 ? `${(n / 1e6).toFixed(1)}M` : n >= 1e4 ? `${(n / 1e3).toFixed(0)}k` : n >= 1e3 ? `${(n / 1e3).toFixed(1)}k`
  : n >= 10 || n === 0 || Number.isInteger(n) ? String(Math.round(n)) : n.toFixed(1));
const trim = n => n.toFixed(n < 100 ? 1 : 0).replace('.0', '');
export const micros = n => (n >= 1e6 ? `${trim(n / 1e6)} s` : n >= 1e3 ? `${trim(n / 1e3)} ms` : `${short(n)} µs`);
export const percent = n => `${n >= 99.95 || n === 0 ? Math.round(n) : n.toFixed(n < 1 ? 2 : n < 10 ? 1 : 0)} %`;

const samples = new Samples('stats', s => s.figures.commits);
let attached = null;

const sum = (figures, prefix) => Object.entries(figures)
  .filter(([name]) => name.startsWith(prefix)).reduce((all, [, n]) => all + n, 0);

// Rates between two samples, and means of what happened in between; null if nothing did.
function between(a, b) {
  const seconds = (b.millis - a.millis) / 1000;
  const change = name => (b.figures[name] ?? 0) - (a.figures[name] ?? 0);
  const rate = name => change(name) / seconds;
  const mean = (total, of, per) => (change(of) > 0 ? change(total) / change(of) / per : null);
  const hits = change('buffer.hits');
  const reads = hits + change('buffer.misses');
  return {
    at: b.millis / 1000,
    commits: rate('commits'),
    aborts: (sum(b.figures, 'abortsByCause.') - sum(a.figures, 'abortsByCause.')) / seconds,
    retries: rate('retries'),
    transaction: mean('transactionNanos', 'commits', 1000),
    durable: mean('log.waitNanos', 'log.waits', 1000),
    hit: reads > 0 ? 100 * hits / reads : null,
    dirty: b.figures['buffer.frames'] > 0 ? 100 * b.figures['buffer.framesDirty'] / b.figures['buffer.frames'] : null,
    reads: rate('io.reads'),
    writes: rate('io.writes'),
    log: rate('log.bytes'),
    syncs: rate('log.syncs'),
    redo: b.figures['log.redoBytes'],
    logFile: b.figures['storage.logBytes'],
    checkpoints: rate('checkpoints.made'),
    checkpoint: mean('checkpoints.nanos', 'checkpoints.made', 1000),
  };
}

function charts() {
  return [
    [new Chart('Transactions/s', ['commits'], short), p => [p.commits]],
    [new Chart('Conflicts/s', ['aborts', 'retries'], short), p => [p.aborts, p.retries]],
    [new Chart('Mean latency', ['transaction', 'log'], micros), p => [p.transaction, p.durable]],
    [new Chart('Cache hit rate', ['hits'], percent, { maximum: 100 }), p => [p.hit]],
    [new Chart('Dirty pages', ['of the cache'], percent), p => [p.dirty]],
    [new Chart('Device operations/s', ['reads', 'writes'], short), p => [p.reads, p.writes]],
    [new Chart('Log written/s', ['bytes'], size, { bytes: true }), p => [p.log]],
    [new Chart('Log syncs/s', ['syncs'], short), p => [p.syncs]],
    [new Chart('Log to recover', ['now', 'log file'], size, { bytes: true }), p => [p.redo, p.logFile]],
    [new Chart('Checkpoints/s', ['checkpoints'], short), p => [p.checkpoints]],
    [new Chart('Mean checkpoint', ['duration'], micros), p => [p.checkpoint]],
  ];
}

export async function activity(root, parts, signal) {
  const all = charts();
  const tiles = h('div', { class: 'tiles' });
  const causes = h('div');
  const problem = h('div');
  const source = h('p', { class: 'muted' });
  root.append(h('h1', {}, 'Activity'), source, problem, tiles, h('div', { class: 'charts' }, all.map(([c]) => c.element)),
    h('h2', {}, 'Aborted attempts by cause'), causes);

  function describe() {
    const info = state.info;
    source.replaceChildren(attached
      ? `Figures of process ${info.holder}, which has the file open.`
      : info.copy
        ? 'Figures of this console, which reads a copy.'
        : 'Figures of this console: it is the only process that has the file open to write.');
    if (!info.write && !info.copy) {
      source.textContent = 'Figures of this console, which only reads.';
    }
    if (info.copy && !attached && info.holder > 0) {
      source.append(' ', h('button', { type: 'button', name: 'attach', title: 'Opens a local JMX connector in that process', onclick: attach },
        `Show process ${info.holder}`));
    }
  }

  async function attach() {
    try {
      await send('POST', 'attach');
      await reload();
      await show();
    } catch (e) {
      problem.replaceChildren(error(e));
    }
  }

  function render(now) {
    if (now.attached !== attached) {
      attached = now.attached;
      describe();
    }
    const f = now.figures;
    const last = samples.draw(all, between).at(-1);
    tiles.replaceChildren(
      tile('commits/s', last ? short(last.commits) : '-'),
      tile('aborts/s', last ? short(last.aborts) : '-'),
      tile('hit rate', last && last.hit !== null ? percent(last.hit) : '-'),
      tile('active', count(f.activeTransactions)),
      tile('waiting', count(f.waitingTransactions)),
      tile('oldest', f.oldestTransactionNanos > 0 ? micros(f.oldestTransactionNanos / 1000) : '-'),
      tile('commits', count(f.commits)),
      tile('retries', count(f.retries)),
      tile('checkpoints', count(f['checkpoints.made'])),
      tile('health', f.health));
    const rows = Object.entries(f).filter(([name, n]) => name.startsWith('abortsByCause.') && n > 0)
      .map(([name, n]) => [name.slice('abortsByCause.'.length).toLowerCase().replaceAll('_', ' '), count(n)]);
    causes.replaceChildren(rows.length === 0 ? h('p', { class: 'muted' }, 'None since the database was opened.')
      : table(['Cause', 'Attempts'], rows, [1]));
  }

  attached = state.info.attached;
  describe();
  await samples.show(signal, problem, render);
  return 'Activity';
}
