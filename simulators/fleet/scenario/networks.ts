/** Networks between robots and platform, by name in a scenario. */
import { durationMs } from '../../../harness/common/durations.ts';
import { settingsOf } from './classes.ts';
import { bitsPerSecond, type NetworkFields, type Scenario, shareOf } from './scenario.ts';

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

const nameOf = (scenario: Scenario, robot: number): string | undefined =>
  settingsOf(scenario, robot).network ?? scenario.network;

export function networkOf(scenario: Scenario, robot: number): NetworkFields | undefined {
  const name = nameOf(scenario, robot);
  return name === undefined ? undefined : (scenario.networks?.[name] ?? NETWORKS[name]);
}

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
    const fields = name === undefined ? undefined : (scenario.networks?.[name] ?? NETWORKS[name]);
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
