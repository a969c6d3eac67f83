/** Describes each defect and variant as a server that Muster starts for the tests. */
import { basename } from 'node:path';
import type { Defect, Located, Variant } from '../../../simulators/defects/define.ts';
import { defined } from '../../common/defined.ts';
import { CLIENT_VARIABLES } from '../../contract/client.ts';
import type { Server, Subject, SubjectSource } from '../../mutate/plan.ts';
import type { Check, Requirement } from '../../runner/types.ts';

export type Requirements = ReadonlyMap<string, Pick<Requirement, 'id' | 'section' | 'text' | 'clause'>>;

type Checks = readonly Pick<Check<never>, 'id' | 'requirement'>[];

export const requirementsOf = ({ checks }: { checks: Checks }): Requirements =>
  new Map(checks.flatMap(({ id, requirement }) => [id, requirement.id].map((key) => [key, requirement] as const)));

interface Deviations<B> {
  readonly all: readonly Located<Defect<B> | Variant<B>>[];
  readonly requirements: Requirements;
  readonly reference: B;
  /** Command line with which a user starts this server. */
  byHand(kind: Subject['kind'], name: string, breaks: readonly string[]): string;
  start(behaviour: B, signal: AbortSignal): Promise<Server>;
}

export function deviatingServers<B extends object>(deviations: Deviations<B>): SubjectSource {
  const { all, requirements, reference, byHand, start } = deviations;
  const subjects = all.map((each): Subject => {
    const { name, summary, file } = each;
    const kind = 'breaks' in each ? 'defect' : 'variant';
    const breaks = 'breaks' in each ? each.breaks : [];
    const broken = breaks.flatMap((id) => requirements.get(id) ?? []);
    return {
      name,
      kind,
      summary,
      file,
      // A variant breaks no requirement, so the name of its file gives the section.
      section: broken[0]?.section ?? /^\d[\d.]*/.exec(basename(file))?.[0] ?? '',
      requirements: broken.map(({ id, section, text, clause }) => ({ id, section, text, ...defined({ clause }) })),
      decisions: [...each.effects(reference).keys()],
      byHand: byHand(kind, name, breaks),
      start: (signal) => start(each.behaviour(reference), signal),
    };
  });
  return {
    subjects,
    async faithful(signal) {
      const taken = new Set<string>();
      return { ...(await start(recordingDecisions(reference, taken), signal)), taken };
    },
  };
}

/** Records used decisions of the simulator in `taken`: functions when called, other values when read. */
export const recordingDecisions = <T extends object>(behaviour: T, taken: Set<string>, prefix = ''): T =>
  new Proxy(behaviour, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      const decision = `${prefix}${String(name)}`;
      if (typeof value !== 'function') {
        taken.add(decision);
        return value;
      }
      return (...given: unknown[]): unknown => {
        taken.add(decision);
        return Reflect.apply(value, target, given);
      };
    },
  });

/** Environment variables that tell tests where the server is; see `fixtures/mutate/README.md`. */
export const VARIABLES = {
  url: 'MUSTER_URL',
  socket: 'MUSTER_SOCKET',
  controlUrl: 'MUSTER_CONTROL_URL',
  controlToken: 'MUSTER_CONTROL_TOKEN',
  controlSocket: 'MUSTER_CONTROL_SOCKET',
  agentUrl: 'MUSTER_AGENT_URL',
  mqttUrl: 'MUSTER_MQTT_URL',
  token: 'MUSTER_TOKEN',
} as const;

const OURS: ReadonlySet<string> = new Set([...Object.values(VARIABLES), ...Object.values(CLIENT_VARIABLES)]);

/** Removes the variables of servers, so that tests cannot reach the server of a surrounding `muster mutate`. */
export const withoutOurs = (env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !OURS.has(name)));
