/** Classes of robots and their settings, among them the network between robot and platform. */
import { durationMs } from '../../../harness/common/durations.ts';
import {
  bitsPerSecond,
  LARGEST_FLEET,
  type NetworkFields,
  type RobotClass,
  type Scenario,
  shareOf,
} from './scenario.ts';
import { subscribersOf, type UplinkKind } from './uplinks.ts';

/** Smallest number of events that a robot keeps in its log, if its class sets none. */
export const USUAL_RETAIN = 200;

interface Classed {
  classes?: Scenario['classes'] | undefined;
}

/**
 * Class of a robot by index; undefined without classes. Depends on the shares only, not on fleet size, seed, shards or
 * workers.
 */
export function classOf({ classes }: Classed, robot: number): string | undefined {
  if (classes === undefined) return undefined;
  // Multiples of the golden ratio are spread evenly, so every range of robots has each class by its share.
  const at = (robot * ((Math.sqrt(5) - 1) / 2)) % 1;
  const all = boundsOf(classes);
  // The shares may add up to slightly less than 1.
  return (all.find(({ below }) => at < below) ?? all.at(-1))?.name;
}

/** Cached, because each action of each robot reads them. */
const bounds = new WeakMap<object, { name: string; below: number }[]>();

function boundsOf(classes: NonNullable<Scenario['classes']>): { name: string; below: number }[] {
  const known = bounds.get(classes);
  if (known !== undefined) return known;
  let below = 0;
  const made = Object.entries(classes).map(([name, { share }]) => {
    below += shareOf(share);
    return { name, below };
  });
  bounds.set(classes, made);
  return made;
}

/** Settings of this robot: its class's, else the scenario's. */
export function settingsOf(scenario: Scenario, robot: number): Omit<RobotClass, 'share'> & { subscribers: number } {
  const own = scenario.classes?.[classOf(scenario, robot) ?? ''];
  return { ...own, subscribers: own?.subscribers ?? subscribersOf(scenario) };
}

export const uplinkOf = (scenario: Scenario, robot: number): UplinkKind =>
  settingsOf(scenario, robot).uplink ?? scenario.uplink ?? 'agent';

export const uplinksIn = ({ uplink = 'agent', classes = {} }: Pick<Scenario, 'uplink' | 'classes'>): UplinkKind[] => {
  const own = Object.values(classes).map((each) => each.uplink ?? uplink);
  return own.length === 0 ? [uplink] : [...new Set(own)];
};

/** Mean over robots, weighted by share; `of` takes the settings of a class. */
export const meanOf = ({ classes }: Classed, of: (own: Omit<RobotClass, 'share'>) => number): number =>
  Object.values(classes ?? { all: { share: '100%' } }).reduce((sum, own) => sum + shareOf(own.share) * of(own), 0);

export const robotsOf = (scenario: Classed, robots: number, name: string): number[] =>
  Array.from({ length: robots }, (_, robot) => robot).filter((robot) => classOf(scenario, robot) === name);

/** Smallest fleet with a robot of the class; undefined if even the largest has none. */
export function leastRobotsOf(scenario: Classed, name: string): number | undefined {
  for (let robot = 0; robot < LARGEST_FLEET; robot += 1) if (classOf(scenario, robot) === name) return robot + 1;
  return undefined;
}

/**
 * Built-in networks. `fibre`, `lte` and `edge` have times and rates of WebPageTest's FIOS, LTE and Edge; `satellite` is
 * for 35,786 km above the equator. Other values are set by hand.
 */
export const NETWORKS: Readonly<Record<string, NetworkFields>> = {
  fibre: { latency: '2ms', up: '5Mbit/s', down: '20Mbit/s' },
  wifi: { latency: '4ms', jitter: '2ms', loss: '0.2%', up: '30Mbit/s', down: '30Mbit/s' },
  lte: { latency: '35ms', jitter: '6ms', loss: '0.1%', up: '12Mbit/s', down: '12Mbit/s' },
  edge: { latency: '420ms', jitter: '60ms', loss: '0.5%', up: '200kbit/s', down: '240kbit/s' },
  satellite: { latency: '300ms', jitter: '10ms', loss: '0.3%', up: '3Mbit/s', down: '25Mbit/s' },
};

export const networkOf = (scenario: Scenario, robot: number): NetworkFields | undefined =>
  networkNamed(scenario, settingsOf(scenario, robot).network ?? scenario.network);

const networkNamed = ({ networks }: Scenario, name: string | undefined): NetworkFields | undefined =>
  name === undefined ? undefined : (networks?.[name] ?? NETWORKS[name]);

export const interrupts = ({ loss, outages }: NetworkFields): boolean => loss !== undefined || outages !== undefined;

export function figuresOf({ latency, jitter, loss, up, down, outages }: NetworkFields) {
  return {
    latencyMs: durationMs(latency),
    jitterMs: jitter === undefined ? 0 : durationMs(jitter),
    loss: loss === undefined ? 0 : shareOf(loss),
    upBits: up === undefined ? Number.POSITIVE_INFINITY : bitsPerSecond(up),
    downBits: down === undefined ? Number.POSITIVE_INFINITY : bitsPerSecond(down),
    outages: outages && { everyMs: durationMs(outages.every), forMs: durationMs(outages.for) },
  };
}

export function networkNotes(scenario: Scenario): string[] {
  const classes = Object.entries(scenario.classes ?? { '': {} });
  return classes.flatMap(([own, { network: name = scenario.network }]: [string, { network?: string }]) => {
    const fields = networkNamed(scenario, name);
    if (fields === undefined) return [];
    const { latency, jitter, loss, up, down, outages } = fields;
    const parts = [
      `${latency} each way${jitter === undefined ? '' : `, ± ${jitter}`}`,
      ...(loss === undefined ? [] : [`${loss} of packets lost`]),
      ...(up === undefined ? [] : [`${up} up`]),
      ...(down === undefined ? [] : [`${down} down`]),
      ...(outages === undefined ? [] : [`nothing for ${outages.for} every ${outages.every}`]),
    ];
    return [
      `The robots${own === '' ? '' : ` of class ${own}`} reached the platform over ${name}: ${parts.join(', ')}.`,
    ];
  });
}
