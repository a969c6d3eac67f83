/** Classes of robots, and their settings. */
import { LARGEST_FLEET, type RobotClass, type Scenario, shareOf } from './scenario.ts';
import { subscribersOf, type UplinkKind } from './uplinks.ts';

/** Minimum number of events that a robot's log keeps, unless the robot's class sets another number. */
export const USUAL_RETAIN = 200;

interface Classed {
  classes?: Scenario['classes'] | undefined;
}

/** Returns the class of a robot, computed from index and shares alone, so that all shards and workers agree. */
export function classOf({ classes }: Classed, robot: number): string | undefined {
  if (classes === undefined) return undefined;
  // Spreads each class evenly over the indices of robots, by multiples of the golden ratio.
  const at = (robot * ((Math.sqrt(5) - 1) / 2)) % 1;
  const all = boundsOf(classes);
  // Falls back to the last class, because the shares may add up to slightly less than 1.
  return (all.find(({ below }) => at < below) ?? all.at(-1))?.name;
}

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

export const meanOf = ({ classes }: Classed, of: (own: Omit<RobotClass, 'share'>) => number): number =>
  Object.values(classes ?? { all: { share: '100%' } }).reduce((sum, own) => sum + shareOf(own.share) * of(own), 0);

export const robotsOf = (scenario: Classed, robots: number, name: string): number[] =>
  Array.from({ length: robots }, (_, robot) => robot).filter((robot) => classOf(scenario, robot) === name);

export function leastRobotsOf(scenario: Classed, name: string): number | undefined {
  for (let robot = 0; robot < LARGEST_FLEET; robot += 1) if (classOf(scenario, robot) === name) return robot + 1;
  return undefined;
}
