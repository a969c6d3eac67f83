import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseScenario, ScenarioError } from './read.ts';
import {
  classOf,
  leastRobotsOf,
  meanOf,
  ratePerSecond,
  robotsOf,
  SCHEMA_FILE,
  type Scenario,
  scenarioJsonSchema,
  schemaText,
  settingsOf,
  shareOf,
} from './scenario.ts';

const ready = new URL('../../../fixtures/scenarios/', import.meta.url);
const files = readdirSync(ready).filter((name) => name.endsWith('.yaml'));

const problemsOf = (text: string): string[] => {
  try {
    parseScenario(text, 'x.yaml');
  } catch (error) {
    expect(error).toBeInstanceOf(ScenarioError);
    return (error as Error).message.split('\n');
  }
  return [];
};

it('the published schema is current: run npm run schemas', () => {
  expect(JSON.parse(readFileSync(SCHEMA_FILE, 'utf8'))).toEqual(JSON.parse(schemaText()));
});

it.each(files)('the published schema accepts %s, as the loader does', (name) => {
  const text = readFileSync(new URL(name, ready), 'utf8');
  const validate = new Ajv2020({ strict: false }).compile(scenarioJsonSchema());
  expect(validate(parse(text)), JSON.stringify(validate.errors)).toBe(true);
  expect(validate({ ...parse(text), robotz: 1 })).toBe(false);
  expect(parseScenario(text, name).name).toBe(name.replace('.yaml', ''));
});

const start = 'name: x\nphases:\n  - do: ramp\n';
const ramp = `${start}    over: 1s\n`;
const nested = (own: string) => `name: x\nclasses: {a: ${own}}\nphases: [{do: ramp, over: 1s}]\n`;
it.each([
  ['what a rate accepts', `${ramp}    ping: 50/d\n`, /'ping' is "50\/d"; accepted: a number per time unit/],
  ['line and column of a YAML error', 'name: x\nphases: [\n', /^x\.yaml:3:1: ./],
  [
    'an unknown field and the accepted ones',
    `${ramp}    oevr: 1s\n`,
    /^x\.yaml:5:11: unknown field 'oevr'; accepted: do, over, ping, lists, .*, gate; did you mean over\?$/,
  ],
  ['a field with a slash once', `${ramp}    a/b: 1s\n`, /^x\.yaml:5:10: unknown field 'a\/b'; accepted: do, over/],
  [
    'a wrong value and what is accepted',
    `${start}    over: 5sec\n`,
    /^x\.yaml:4:11: 'over' is "5sec"; accepted: a number and a unit, e\.g\. 500ms, 30s, 5m/,
  ],
  [
    'an unknown phase and all phases',
    'name: x\nphases:\n  - do: rump\n    over: 5s\n',
    /^x\.yaml:3:9: 'do' is "rump"; accepted: ramp, hold, rollout, .*, stop; did you mean ramp\?$/,
  ],
  ['a missing field', 'phases:\n  - do: ramp\n    over: 1s\n', /^x\.yaml:1:1: lacks "name"/],
  [
    'what a nested field accepts',
    nested('{share: 0.75}'),
    /^x.*'classes.a.share' is 0.75; accepted: a percentage, 0% to 100%$/,
  ],
  ['the nested fields', nested('{share: 100%, sub: 1}'), /^x.*field 'classes.a.sub'; accepted: share, subscribers, /],
  [
    'a share of nobody',
    `${ramp}  - { do: kill, share: 0%, over: 1s }\n`,
    /^x\.yaml:5:24: 'share' is "0%"; accepted: a percentage of the fleet, more than 0% up to 100%; at least one/,
  ],
  [
    'what the name of a class accepts',
    `name: x\nclasses: {Arm: {share: 100%}}\nphases: [{do: ramp, over: 1s}]\n`,
    /^x\.yaml:2:\d+: 'classes.Arm' is not accepted as a name; accepted: small letters, .*arm_2$/,
  ],
  [
    'the place of a bad threshold',
    'name: x\nthresholds:\n  - start.ms.p99<1s\n  - ping.ms.p100<1s\nphases: [{do: ramp, over: 1s}]\n',
    /^x\.yaml:4:5: .*'p100' is not a statistic; accepted: count, max, rate/,
  ],
])('a bad scenario file names %s', (_what, text, problem) => {
  expect(problemsOf(text)).toEqual([expect.stringMatching(problem)]);
});

it('a bad scenario file reports every mistake of a file at once, in order', () => {
  const phases = '  - { over: 1s }\n  - { do: hold, for: soon }\n  - { do: ramp, over: 1s }\n  - { do: rollout }\n';
  const problems = problemsOf(`name: x\nrobotz: 5\nuplink: none\nthresholds: [p99<1]\nphases:\n${phases}`);
  expect(problems.map((problem) => problem.replace(/^x\.yaml:(\d+):\d+: /, '$1 ').slice(0, 32))).toEqual([
    "2 unknown field 'robotz'; accept",
    "4 threshold 'p99<1': it must rea",
    '6 the phase lacks "do"; accepted',
    '7 \'for\' is "soon"; accepted: a n',
    "8 only the first phase is 'ramp'",
    '9 lacks "over"',
    "9 this 'rollout' phase needs an ",
  ]);
});

it.each([
  [1, '[{do: hold, for: 1s}]', /first phase must be 'ramp'/],
  [1, '[{do: ramp, over: 1s}, {do: stop, over: 1s}, {do: hold, for: 1s}]', /'stop' must be the last/],
  [0, '[{do: ramp, over: 1s}, {do: rollout, over: 1s}]', /subscribers must be 1 or more/],
])('a bad scenario file refuses what contradicts itself: %i subscribers, %s', (subscribers, phases, message) => {
  expect(problemsOf(`name: x\nsubscribers: ${subscribers}\nphases: ${phases}\n`).join()).toMatch(message);
});

it.each([
  ['{a: {share: 60%}, b: {share: 30%}}', '{do: hold, for: 1s}', /^x\.yaml:2:10: the shares .* add up to 90%, not to/],
  ['{a: {share: 33.3%}, b: {share: 66.7%}}', '{do: hold, for: 1s, class: b}', /^$/],
  ['{a: {share: 100%}}', '{do: storm, over: 1s, class: b}', /there is no class 'b'; accepted: a$/],
  ['{a: {share: 100%, subscribers: 0}}', '{do: rollout, over: 1s}', /subscribers must be 1 or more/],
  ['{a: {share: 50%, subscribers: 0}, b: {share: 50%}}', '{do: rollout, over: 1s, class: b}', /^$/],
  ['{a: {share: 100%}}', '{do: hold, for: 1s, gate: ["ping.ms{class=b}.p99<1s"]}', /no class 'b'; accepted: a$/],
  ['{arm: {share: 100%}}', '{do: hold, for: 1s, gate: ["ping.ms{class=arms}.p99<1s"]}', /arm; did you mean arm\?$/],
  ['{a: {share: 100%}}', '{do: hold, for: 1s, gate: ["ping.ms{phase=hol}.p99<1s"]}', /alone; did you mean hold\?$/],
  ['{a: {share: 100%}}', '{do: hold, for: 1s, arrivals: posson}', /jitter; did you mean poisson\?$/],
])('a bad scenario file checks classes of robots: %s, %s', (classes, phase, message) => {
  const text = `name: x\nclasses: ${classes}\nphases: [{do: ramp, over: 1s}, ${phase}]\n`;
  expect(problemsOf(text).join()).toMatch(message);
});

it.each([
  ['polling', 'agent_version: v1', /'agent_version' needs the uplink agent, and uplink is polling$/],
  ['agent', 'agent_version: v1, uplink: polling', /'agent_version' needs the uplink agent, and uplink is polling$/],
  ['polling', 'agent_version: v1, uplink: agent', /^$/],
  ['none', 'uplink: agent', /'uplink' needs the uplink agent or polling, and uplink is none$/],
  ['agent', 'uplink: calls', /"calls"; accepted: agent, polling$/],
])('a bad scenario file checks how a class reaches the platform: %s, %s', (uplink, fields, message) => {
  const classes = `{a: {share: 100%, ${fields}}}`;
  const text = `name: x\nuplink: ${uplink}\nclasses: ${classes}\nphases: [{do: ramp, over: 1s}]\n`;
  expect(problemsOf(text).join()).toMatch(message);
});

it.each([
  ['none', '{do: hold, for: 1s, reads: 1/s}', /'hold' phase needs an uplink.*; for 'reads' alone, calls will do$/],
  ['none', '{do: storm, over: 1s}', /^$/],
  ['calls', '{do: rollout, over: 1s}', /needs an uplink that deploys \(agent, polling\), not calls$/],
  ['calls', '{do: partition, for: 1s}', /needs robots with a connection of their own \(agent, polling\)/],
  ['calls', '{do: hold, for: 1s, lists: 1/s, reads: 1/s, expands: 1/s, ping: 1/s}', /^$/],
])('a bad scenario file says which uplink suits a phase: %s, %s', (uplink, phase, message) => {
  const text = `name: x\nuplink: ${uplink}\nphases: [{do: ramp, over: 1s}, ${phase}]\n`;
  expect(problemsOf(text).join()).toMatch(message);
});

it.each(['', '[]', 'text', '42'])('a bad scenario file describes a scenario in the error for %j', (text) => {
  expect(problemsOf(text).join()).toMatch(/a scenario is a map of fields: name, /);
});

it('a scenario reads rates as events per second', () => {
  expect(['50/s', '300/m', '3600/h'].map(ratePerSecond)).toEqual([50, 5, 1]);
});

it.each(['101%', '50', '-1%'])('a scenario refuses the share %j, with the accepted form', (text) => {
  expect(() => shareOf(text)).toThrow(/0% to 100%/);
});

describe('classes of robots', () => {
  const classes = { arm: { share: '60%', subscribers: 3 }, cart: { share: '39%', retain: 50 }, rare: { share: '1%' } };
  const scenario: Scenario = { name: 'x', subscribers: 2, classes, phases: [] };

  it.each([100, 1000, 20_000])('each class has its share of %i robots', (robots) => {
    const count = { arm: 0, cart: 0, rare: 0 };
    for (let robot = 0; robot < robots; robot += 1) count[classOf(scenario, robot) as keyof typeof count] += 1;
    expect(Math.abs(count.arm - 0.6 * robots)).toBeLessThan(4);
    expect(Math.abs(count.cart - 0.39 * robots)).toBeLessThan(4);
    expect(Math.abs(count.rare - 0.01 * robots)).toBeLessThan(4);
  });

  it('a class overrides the settings of the scenario', () => {
    const robot = (name: string) =>
      Array.from({ length: 300 }, (_, at) => at).find((at) => classOf(scenario, at) === name);
    expect(settingsOf(scenario, robot('arm') ?? 0).subscribers).toBe(3);
    expect(settingsOf(scenario, robot('cart') ?? 0)).toMatchObject({ subscribers: 2, retain: 50 });
    expect(meanOf(scenario, ({ subscribers = 2 }) => subscribers)).toBeCloseTo(0.6 * 3 + 0.4 * 2);
    expect(meanOf({}, ({ subscribers = 2 }) => subscribers)).toBe(2);
    expect(classOf({}, 5)).toBeUndefined();
    expect(settingsOf({ name: 'x', phases: [] }, 5)).toEqual({ subscribers: 1 });
  });

  it('the smallest fleet with a robot of a class is computed', () => {
    const least = leastRobotsOf(scenario, 'rare') ?? 0;
    expect([least, least - 1].map((robots) => robotsOf(scenario, robots, 'rare').length)).toEqual([1, 0]);
    expect(leastRobotsOf({ classes: { ...classes, none: { share: '0%' } } }, 'none')).toBeUndefined();
  });
});
