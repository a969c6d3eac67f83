import process from 'node:process';
import { defined } from '../../common/defined.ts';
import { html, type Markup, reportPage } from '../../common/html.ts';
import {
  type Paint,
  painter,
  printable,
  printableJson,
  printableLine,
  printableValue,
  withoutCiCommands,
  wrap,
} from '../../common/terminal.ts';
import { durationMs } from '../../common/units.ts';
import { EXIT, exitCodesText, UsageError, usage } from '../../common/usage.ts';
import { readInputText, TooLarge, whyNot } from '../../common/user-files.ts';
import {
  type Claims,
  claimsOf,
  decisionsIn,
  ownSuites,
  verifyCertificate,
} from '../../reports/certificate/certificate.ts';
import { keyId, Refused, readPublicKey } from '../../reports/certificate/envelope.ts';
import { DAY, type Statement } from '../../reports/certificate/statement.ts';
import { SYMBOLS } from '../../reports/findings.ts';
import { paintOf, placesOf, reportWriter, type WritableFormat } from '../../reports/format.ts';
import { digestOf } from '../../targets/identity.ts';
import { loadSuites } from '../catalogue.ts';
import { columns, command, OPTION, REPORTED } from '../options.ts';
import { VERSION } from '../version.ts';

export const verify = command({
  options: {
    file: OPTION.file('Certificate', { positional: true, required: true }),
    key: OPTION.file('Public key of the signer (PEM)', { required: true }),
    digest: OPTION.text('Digest of the artifact that the certificate must cover (sha256:…)', { conflicts: 'artifact' }),
    artifact: OPTION.file('Artifact that the certificate must cover'),
    'max-age': OPTION.text('Refuse a run that began longer ago, e.g. 90d'),
    'at-least': OPTION.text('Refuse requirements of an earlier date, e.g. 2026-11-25'),
    json: OPTION.flag('Print the verified statement as JSON'),
    report: OPTION.list('Report: pretty, html or json, each with =FILE', REPORTED),
  },
  examples: Object.entries({
    'muster verify certificate.json --key vendor.pub': 'what is claimed, and what is not',
    'muster verify certificate.json --key vendor.pub --artifact ./agent':
      'and that it is about this file, and no other one',
    'muster verify certificate.json --key vendor.pub --report html=certificate.html': 'the same as a page',
  }),
  epilogue: `Exit codes: ${exitCodesText('verify')}.`,
  async run({ file, key, digest, artifact, json, report = [json ? 'json' : 'pretty'], ...limited }) {
    const { 'max-age': age, 'at-least': atLeast } = limited;
    const places = placesOf([file, key, ...(artifact === undefined ? [] : [artifact])]);
    const write = reportWriter(report, FORMATS, process.stdout, places);
    const maxAgeMs = age === undefined ? undefined : usage('--max-age', () => durationMs(age));
    const publicKey = readPublicKey(key);
    const hex = /^(?:sha256:)?([0-9a-f]{64})$/i.exec(digest ?? '')?.[1];
    if (digest !== undefined && hex === undefined) throw new UsageError('--digest: must be sha256: and 64 hex digits');
    const wanted = hex === undefined ? digestOf(artifact) : `sha256:${hex.toLowerCase()}`;
    const own = ownSuites(VERSION, await loadSuites());
    const paint = painter(process.stdout, process.env);
    try {
      const text = readText(file);
      if (atLeast !== undefined && !DAY.test(atLeast))
        throw new UsageError(`--at-least ${atLeast}: must be the date of requirements, e.g. 2026-11-25`);
      const limits = defined({ digest: wanted, maxAgeMs, atLeast });
      const statement = verifyCertificate(text, publicKey, { own, ...limits });
      write({ statement, claims: claimsOf(statement, own), id: keyId(publicKey) });
      return statement.predicate.result === 'FAILED' ? EXIT.nonconformant : EXIT.conformant;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      process.stdout.write(
        `${paint(['bold', 'red'], 'REFUSED')}  ${printableLine(`${file}: ${error.message}`)}\nIt certifies nothing.\n` +
          `The newest requirements that this muster knows are those of ${own.newestRequirements}.\n`,
      );
      return EXIT.incomplete;
    }
  },
});

interface Verified {
  statement: Statement;
  claims: Claims;
  id: string;
}

const FORMATS: readonly WritableFormat<Verified>[] = [
  {
    name: 'pretty',
    text: (verified, isTerminal) => withoutCiCommands(claimsText(verified, paintOf(process, isTerminal))),
  },
  { name: 'html', text: claimsPage },
  { name: 'json', text: ({ statement }) => `${printableJson(statement, 2)}\n` },
];

function claimsText({ statement, claims: plain, id }: Verified, paint: Paint): string {
  const good = statement.predicate.result !== 'FAILED';
  const claimed = printableValue({ ...plain, decisions: decisionsIn(statement) }, printableLine);
  const { headline, about, claims, not, decisions } = claimed;
  const lines = (items: readonly string[]): string[] =>
    items.flatMap((item) => {
      const indent = item.startsWith('  ') ? 6 : 4;
      return wrap(item.trim(), columns() - indent).map((line, index) =>
        index === 0 && indent === 4 ? `  · ${line}` : ' '.repeat(indent) + line,
      );
    });
  return [
    paint(['bold', good ? 'green' : 'red'], headline),
    about,
    paint('dim', `signature and completeness hold; signed by key ${id}`),
    '',
    paint('bold', 'It claims'),
    ...lines(claims),
    '',
    paint('bold', 'It does not claim'),
    ...lines(not),
    '',
    ...(decisions.length === 0
      ? []
      : [paint('bold', 'How each check of the profile was decided'), ...decisions.map((line) => `  ${line}`), '']),
  ].join('\n');
}

function claimsPage({ statement, claims: claimed, id }: Verified): string {
  const { result, muster } = statement.predicate;
  const listed = (items: readonly string[]): Markup[] => items.map((item) => html`<li>${printable(item.trim())}</li>`);
  const rows = muster.verdicts.map(
    ({ id: check, level, section, outcome, reason }) => html`<tr><th scope="row"><code>${check}</code></th>
<td class="outcome ${outcome}"><b>${SYMBOLS[outcome]}</b> ${outcome.replaceAll('_', ' ')}</td>
<td>${level}, section ${section}</td><td>${printable(reason ?? '')}</td></tr>`,
  );
  const main = html`<div class="banner ${result === 'FAILED' ? 'fail' : 'pass'}"><h1>${printable(claimed.headline)}</h1>
<p>${printable(claimed.about)}.</p><p>Its signature and completeness hold; signed by key ${id}.</p></div>
<h2>It claims</h2><ul>${listed(claimed.claims)}</ul>
<h2>It does not claim</h2><ul>${listed(claimed.not)}</ul>
<h2>How each check was decided</h2>
<div class="wide" tabindex="0" role="region" aria-label="Checks"><table>
<thead><tr>${['Check', 'Decision', 'Rule', 'Reason'].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div>
<footer>muster ${muster.version}</footer>`;
  return reportPage(claimed.headline, main, {
    style: new URL('../../reports/compare/comparison-page.css', import.meta.url),
  });
}

function readText(file: string): string {
  try {
    return readInputText(file);
  } catch (error) {
    if (error instanceof TooLarge) throw new Refused(`no certificate: ${error.message}`);
    throw new UsageError(`${file}: cannot be read (${whyNot(error)})`);
  }
}
