import { it } from 'vitest';
import { killWhileWriting } from './testing/kills.ts';

it('a database file keeps everything that was answered before each of three SIGKILLs', () => killWhileWriting(3));
