import type { ClientBehaviour } from '../../client/behaviour.ts';
import { loadSections } from '../define.ts';

export const { defects: clientDefects, variants: clientVariants } = await loadSections<ClientBehaviour>('client');
