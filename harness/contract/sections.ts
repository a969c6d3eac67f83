const TITLES: Record<string, string> = {
  '1': 'What the service does',
  '2': 'Resources and their fields',
  '2.1': 'Deployment',
  '2.2': 'Enumerations and the merge rule',
  '2.3': 'Event envelope',
  '2.4': 'Payload of deployment.deployed',
  '2.5': 'Ping',
  '2.6': 'List envelope',
  '3': 'States and transitions',
  '4': 'Endpoints',
  '4.1': 'Device API',
  '4.2': 'Platform API',
  '5': 'Authentication',
  '6': 'Events',
  '6.1': 'Frame',
  '6.2': 'Rules of the event stream',
  '6.3': 'Event types',
  '7': 'Errors',
  '8': 'Limits',
  '9': 'Versioning',
};

export const isSection = (section: string): boolean => Object.hasOwn(TITLES, section);

/** Falls back to the nearest parent section; empty if the specification has neither. */
export function sectionTitle(section: string): string {
  for (let at = section; at !== ''; at = at.includes('.') ? at.slice(0, at.lastIndexOf('.')) : '') {
    const title = TITLES[at];
    if (title !== undefined) return title;
  }
  return '';
}
