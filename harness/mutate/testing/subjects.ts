import type { Subject } from '../plan.ts';

export const stub = (name: string, given: Partial<Subject> = {}): Subject => ({
  name,
  kind: 'defect',
  section: '1',
  summary: '',
  requirements: [],
  decisions: ['taken'],
  file: '',
  byHand: '',
  start: () => Promise.reject(new Error('never')),
  ...given,
});
