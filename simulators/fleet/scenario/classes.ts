/** Classes of robots: which robot belongs to which, and what its class decides. */
import { LARGEST_FLEET, type RobotClass, type Scenario, shareOf } from './scenario.ts';
import { subscribersOf, type UplinkKind } from './uplinks.ts';

/** Events that a robot keeps in its log at least, where its class says nothing. */
export const USUAL_RETAIN = 200;

interface Classed {
  classes?: Scenario['classes'] | undefined;
}

/** Its multiples, without their whole part, are spread evenly: every run of robots has each class by its share. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/**
 * The class of the robot with this index; undefined in a scenario without classes. It depends on the shares alone, and
 * not on the size of the fleet, the seed, shards or workers.
 */
export function classOf({ classes }: Classed, robot: number): string | undefined {
  if (classes === undefined) return undefined;
  const at = (robot * GOLDEN_RATIO) % 1;
  const all = boundsOf(classes);
  // The shares may add up to a little less than 1.
  return (all.find(({ below }) => at < below) ?? all.at(-1))?.name;
}

/** Asked for each action of each robot. */
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

/** What the scenario says of this robot: its class decides before the scenario does. */
export function settingsOf(scenario: Scenario, robot: number): Omit<RobotClass, 'share'> & { subscribers: number } {
  const own = scenario.classes?.[classOf(scenario, robot) ?? ''];
  return { ...own, subscribers: own?.subscribers ?? subscribersOf(scenario) };
}

/** How this robot reaches the platform. */
export const uplinkOf = (scenario: Scenario, robot: number): UplinkKind =>
  settingsOf(scenario, robot).uplink ?? scenario.uplink ?? 'agent';

/** How the robots of a scenario reach the platform: of those without classes, in one way. */
export const uplinksIn = ({ uplink = 'agent', classes = {} }: Pick<Scenario, 'uplink' | 'classes'>): UplinkKind[] => {
  const own = Object.values(classes).map((each) => each.uplink ?? uplink);
  return own.length === 0 ? [uplink] : [...new Set(own)];
};

/** A figure of a robot on average, weighed by the shares; `of` takes what a class says of its own. */
export const meanOf = ({ classes = WHOLE }: Classed, of: (own: Omit<RobotClass, 'share'>) => number): number =>
  Object.values(classes).reduce((sum, { share, ...own }) => sum + shareOf(share) * of(own), 0);

/** The robots of a scenario without classes. */
const WHOLE: NonNullable<Scenario['classes']> = { all: { share: '100%' } };

/** The robots of a fleet of so many that belong to the class, by index. */
export const robotsOf = (scenario: Classed, robots: number, name: string): number[] =>
  Array.from({ length: robots }, (_, robot) => robot).filter((robot) => classOf(scenario, robot) === name);

/** The smallest fleet that has a robot of the class; undefined where none of the largest size has. */
export function leastRobotsOf(scenario: Classed, name: string): number | undefined {
  for (let robot = 0; robot < LARGEST_FLEET; robot += 1) if (classOf(scenario, robot) === name) return robot + 1;
  return undefined;
}
