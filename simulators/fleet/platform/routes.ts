/** Platform API routes that a fleet needs. After a change, run this file to update `fixtures/scenarios/README.md`. */

import { readFileSync, writeFileSync } from 'node:fs';
import { TRAFFIC, type Traffic, type UplinkKind } from '../scenario/scenario.ts';

export type Part = 'always' | Traffic | 'rollout';

interface Route {
  route: string;
  section?: string;
  of: Partial<Record<UplinkKind, Part>>;
  fields: string;
  instead: string;
  /** Set if the fleet can replace a missing route without an option of the user. */
  own?: true;
}

export const ROUTES = {
  devices: {
    route: 'GET /devices',
    section: '4.2',
    of: { calls: 'always', polling: 'always', agent: 'lists' },
    fields: '`has_more`, and `id` of each item (`polling` also `name`)',
    instead: '`--devices FILE` names the devices, and `lists`, `reads` and `expands` are left out of the scenario',
  },
  read: {
    route: 'GET /devices/{device_id}',
    of: { calls: 'reads', polling: 'reads', agent: 'reads' },
    fields: '`id`',
    instead: 'a page of one, `?limit=1`',
    own: true,
  },
  expand: {
    route: 'GET /devices?expand=current_deployment',
    section: '9',
    of: { calls: 'expands', polling: 'expands', agent: 'expands' },
    fields: '`current_deployment` of each item',
    instead: '`expand=total_count` (section 8)',
    own: true,
  },
  ping: {
    route: 'POST /devices/{device_id}/ping',
    section: '4.2',
    of: { calls: 'ping', polling: 'ping', agent: 'ping' },
    fields: '`code`',
    instead: '`ping` is left out of the scenario',
  },
  name: {
    route: 'GET /devices?name=NAME',
    of: { polling: 'always' },
    fields: '`id` and `name` of each item',
    instead: 'all pages',
    own: true,
  },
  create: {
    route: 'POST /devices',
    of: { polling: 'always' },
    fields: '`id`',
    instead: 'devices that exist, one for each robot',
    own: true,
  },
  deployments: {
    route: 'GET /deployments',
    section: '4.2',
    of: { polling: 'always' },
    fields: '`id`, `device_id`, `target_status`, `created_at` of each item',
    instead: '`--uplink calls`',
  },
  filter: {
    route: 'GET /deployments?device_id=ID&activity_status=STATUS&order_by=FIELD',
    of: { polling: 'always' },
    fields: 'the same, and `config_instances` with `expand`',
    instead: 'all pages, picked and sorted by the robot; a deployment without files',
    own: true,
  },
  release: {
    route: 'POST /config_types, /config_schemas, /releases, /config_instances',
    section: '9',
    of: { polling: 'rollout', agent: 'rollout' },
    fields: '`id`',
    instead: 'the first release of `GET /releases`, without files',
    own: true,
  },
  deploy: {
    route: 'POST /deployments',
    section: '9',
    of: { polling: 'rollout', agent: 'rollout' },
    fields: '`id`',
    instead: 'the phases `rollout` are left out of the scenario, or `--uplink calls`',
  },
  action: {
    route: 'POST /deployments/{deployment_id}/deploy',
    of: { polling: 'rollout' },
    fields: 'nothing; asked where a new deployment is `staged`',
    instead: 'robots take a deployment that is staged',
    own: true,
  },
  token: {
    route: 'POST /provisioning_tokens',
    section: '9',
    of: { agent: 'always' },
    fields: '`token`',
    instead: '`--uplink polling` or `--uplink calls`',
  },
  agent: {
    route: '/agent/v1 of --agent-url, and a broker (MQTT)',
    of: { agent: 'always' },
    fields: 'the published agent protocol',
    instead: '`--uplink polling` or `--uplink calls`',
  },
} as const satisfies Record<string, Route>;

export type RouteName = keyof typeof ROUTES;

const ROWS = Object.entries(ROUTES) as [RouteName, Route][];

export const routesFor = (uplinks: readonly UplinkKind[], parts: ReadonlySet<Part>): [RouteName, Route][] =>
  ROWS.filter(([, { of }]) => uplinks.some((uplink) => of[uplink] !== undefined && parts.has(of[uplink])));

const SHOWN = ['calls', 'polling', 'agent'] as const satisfies UplinkKind[];
const partWord = (part: Part | undefined): string =>
  part === undefined ? '' : part === 'always' ? 'always' : part in TRAFFIC ? `\`${part}\`` : 'roll-outs';

export function routesTable(): string {
  const head = ['route', 'section', ...SHOWN.map((uplink) => `\`${uplink}\``), 'what is read', 'where it is missing'];
  const rows = ROWS.map(([, { route, section = '–', of, fields, instead, own }]) => [
    `\`${route}\``,
    section,
    ...SHOWN.map((uplink) => partWord(of[uplink])),
    fields,
    own === true ? instead : `preflight refuses: ${instead}`,
  ]);
  const widths = head.map((title, at) => Math.max(...[head, ...rows].map((row) => (row[at] ?? title).length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

export function routesText(): string {
  const rows = ROWS.map(([, { route, section, of, fields, instead, own }]) => {
    const who = SHOWN.flatMap((uplink) => {
      const part = of[uplink];
      return part === undefined ? [] : [part === 'always' ? uplink : `${uplink} (${partWord(part)})`];
    });
    const named = section === undefined ? '' : ` (section ${section})`;
    const missing = `${own === true ? 'missing' : 'missing, refused'}: ${instead}`;
    return `  ${route}${named}\n    for ${who.join(', ')}; read: ${fields}; ${missing}`.replaceAll('`', '');
  });
  return (
    'Routes of a platform that robots need, by uplink and traffic; what is read of the answer; what is\n' +
    `used where the route is missing, or what would do where the run is refused:\n${rows.join('\n')}`
  );
}

export const ROUTES_FILE = new URL('../../../fixtures/scenarios/README.md', import.meta.url);

export const withRoutes = (document: string): string =>
  document.replace(/(?<=<!-- made by routes\.ts -->\n)[\s\S]*?(?=\n<!-- end -->)/, () => `\n${routesTable()}\n`);

if (import.meta.main) writeFileSync(ROUTES_FILE, withRoutes(readFileSync(ROUTES_FILE, 'utf8')));
