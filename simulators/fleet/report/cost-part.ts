/** What the processes of a run took, as a table: memory and processor by what they are for, and of one robot. */
import { html, type Markup, NOTHING } from '../../../harness/common/html.ts';
import { mebibytes } from '../measure/cgroup.ts';
import { costParts, kibibytes, type RunCosts } from '../result/costs.ts';
import { tableOf } from './table.ts';

const COLUMNS = [
  'process',
  'number#',
  'memory, peak#',
  'at the end#',
  'processor#',
  'of one robot, whole#',
  'one more#',
];

const KINDS: Record<RunCosts['memory'], string> = {
  PSS: 'Memory is PSS: what processes share counts once.',
  RSS: 'Memory is RSS: what processes share counts in each of them.',
};

export function costPart(costs: RunCosts | undefined): Markup {
  if (costs === undefined) return NOTHING;
  const rows = costParts(costs).map(([name, part]) => {
    const cells = [
      part.processes.toLocaleString('en'),
      mebibytes(part.peak_bytes),
      mebibytes(part.end_bytes),
      `${part.cpu_seconds.toFixed(1)} s`,
      each(part.robot_whole_bytes),
      each(part.robot_marginal_bytes),
    ];
    const kind = name === 'whole' ? html` class="sum"` : NOTHING;
    return html`<tr${kind}><th scope="row">${name}</th>${cells.map((cell) => html`<td class="n">${cell}</td>`)}</tr>`;
  });
  return html`${tableOf('Processes', COLUMNS, rows)}<p class="soft">${KINDS[costs.memory]} <i>Whole</i> is all memory at the peak over ${costs.robots.toLocaleString('en')} robots; <i>one more</i> is the growth per robot while they came up.</p>`;
}

const each = (bytes: number | null): string => (bytes === null ? '–' : kibibytes(bytes));
