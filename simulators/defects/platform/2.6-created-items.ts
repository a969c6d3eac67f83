import { defect } from '../define-platform.ts';

export const defects = [
  defect(
    'created-unlisted',
    'Lists nothing that is younger than a minute.',
    ['platform.list.page-size', 'platform.list.created'],
    {
      envelope: (envelope) => ({
        ...envelope,
        data: (envelope['data'] as { created_at?: string }[]).filter(
          (item) => !(Date.now() - Date.parse(item.created_at ?? '') < 60_000),
        ),
      }),
    },
  ),
];
