/** Defects of clients that send no API version, or an unknown version. */
import { defined } from '../../../harness/common/defined.ts';
import { defect, variant } from '../define-client.ts';

const named = (version: string | undefined) => ({
  calls: {
    access: ({ key }: { key: string }): Record<string, string> => ({
      'X-API-Key': key,
      ...defined({ 'Service-Version': version }),
    }),
  },
});

export const defects = [
  defect(
    'no-version',
    'Names no API version.',
    ['client.version.ping', 'client.version.sent.list', 'client.version.sent.deploy'],
    named(undefined),
    { tells: /none; POST \/beta\/devices\/\w+\/ping has the headers .*x-api-key/ },
  ),
  defect(
    'version-of-dialect',
    'Names the version in the header of a published service.',
    ['client.version.ping', 'client.version.sent.list', 'client.version.sent.deploy'],
    { calls: { access: ({ key, version }) => ({ 'X-API-Key': key, 'Miru-Version': version }) } },
    { tells: /the headers .*miru-version.* \(Miru-Version is that of --dialect miru\)/ },
  ),
  defect('version-number', 'Names a version of another format.', ['client.version.ping'], named('0.11.0')),
  defect(
    'version-of-old',
    'Names a version that is no longer supported.',
    ['client.version.sent'],
    named('2025-10-21.zion'),
  ),
  defect('version-changes', 'Names another version on each request.', ['client.version.sent.list'], () => {
    let requests = 0;
    return {
      calls: {
        access: ({ key }) => {
          requests += 1;
          return { 'X-API-Key': key, 'Service-Version': `2026-05-0${1 + (requests % 9)}.rainier` };
        },
      },
    };
  }),
];

export const variants = [
  variant('version-of-its-own', 'Names the version that it was built against.', named('2026-03-09.tetons')),
  variant('version-to-come', 'Names a version that Muster does not know.', named('2031-01-02.yosemite')),
];
