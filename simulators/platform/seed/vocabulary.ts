/** Words and times for a believable workspace. */
export const REGIONS = [
  { name: 'Europe', sites: ['Hamburg', 'Rotterdam', 'Poznan', 'Lyon', 'Turin', 'Malmo'] },
  { name: 'North America', sites: ['Columbus', 'Reno', 'Memphis', 'Toronto', 'Monterrey', 'Tacoma'] },
  { name: 'Asia Pacific', sites: ['Osaka', 'Busan', 'Penang', 'Pune', 'Brisbane', 'Suzhou'] },
] as const;

export const LINES = ['Receiving', 'Storage', 'Picking', 'Packing', 'Shipping', 'Returns'] as const;
export const ROBOTS = ['picker', 'hauler', 'welder', 'sorter', 'scanner', 'lifter', 'sweeper'] as const;
export const AGENT_VERSIONS = ['v0.8.1', 'v0.9.0', 'v0.9.2', 'v0.10.0', 'v0.10.1'] as const;

export const CONFIG_TYPES = [
  { name: 'Motion Control', slug: 'motion-control', property: 'max_speed', low: 1, high: 12 },
  { name: 'Localization', slug: 'localization', property: 'update_hz', low: 5, high: 60 },
  { name: 'Perception', slug: 'perception', property: 'confidence', low: 1, high: 99 },
  { name: 'Safety Limits', slug: 'safety-limits', property: 'stop_distance', low: 1, high: 40 },
] as const;

export const NOTES = [
  'Slower approach near conveyors',
  'Tune localization after the map update',
  'Wider safety margin for the night shift',
  'Roll-out of the quarter',
  'Follow-up to the incident review',
] as const;

/** End of the seeded history. It is fixed, so that a seed always yields the same timestamps. */
export const SEED_END = Date.parse('2026-01-31T18:00:00.000Z');
export const DAY = 24 * 3_600_000;

/** The timestamp of a moment in milliseconds. */
export const at = (time: number): string => new Date(time).toISOString();

/** The timestamps of a row that was created at a moment in milliseconds. */
export const stampsAt = (time: number): { created_at: string; updated_at: string } => ({
  created_at: at(time),
  updated_at: at(time),
});
