import { after, before, test } from 'node:test';
import { makePdf } from '../support/claude/samples.mjs';
import { assertProblem, assertRefused } from './support/assertions.mjs';
import { fixture, pdfOfSize } from './support/files.mjs';
import { FORM_TYPE, formOf, stage } from './support/stage.mjs';

let world, acme;
before(async () => {
  world = await stage();
  acme = await world.tenant('acme');
});
after(() => world?.stop());

for (const [what, bad, problem] of [
  ['a page of HTML', () => fixture('upload/c10-html.pdf'), { status: 400, detail: 'not a PDF' }],
  ['an empty file', () => Buffer.alloc(0), { status: 400, detail: 'the file is empty' }],
  ['a ZIP archive', () => Buffer.from('PK\x03\x04 archive'), { status: 400, detail: 'not a PDF' }],
  ['a PDF too large for Claude', () => pdfOfSize('too large', 24_000_001), { status: 413, type: 'too-large', detail: 'base64' }],
  ['a PDF of 601 pages', () => makePdf('long', { pages: 601 }), { status: 400, detail: '601 pages' }],
]) {
  for (const [where, place] of [['first', 0], ['last', 2]]) {
    test(`${what} ${where} in a form is refused by name, and the good files with it`, async () => {
      const files = [good('one.pdf'), good('two.pdf')];
      files.splice(place, 0, { name: 'the bad one.pdf', bytes: bad() });
      const send = () => acme.submitFiles(files);
      await assertRefused(world, acme, send, { field: 'the bad one.pdf', ...problem });
    });
  }
}

test('a bad file behind large good ones leaves no part of them behind', async () => {
  const large = [0, 1].map((i) => ({ name: `large ${i}.pdf`, bytes: pdfOfSize(`large ${i}`, 6_000_000) }));
  const send = () => acme.submitFiles([...large, { name: 'bad.pdf', bytes: Buffer.from('no PDF') }]);
  await assertRefused(world, acme, send, { status: 400, field: 'bad.pdf', detail: 'not a PDF' });
});

test('a model that takes fewer pages refuses a file that another takes', async () => {
  const files = [{ name: 'long.pdf', bytes: makePdf('long', { pages: 101 }) }];
  await assertRefused(world, acme, () => acme.submitFiles(files, { model: 'claude-haiku-4-5' }), {
    status: 400,
    field: 'long.pdf',
    detail: '101 pages, and the model takes 100',
  });
  await acme.answersTo(files);
});

test('a form that ends within a file is refused by its name and leaves nothing behind', async () => {
  const form = formOf([good('whole.pdf'), { name: 'half.pdf', bytes: pdfOfSize('half', 6_000_000) }]);
  const send = () => acme.upload(form.subarray(0, 5_500_000), FORM_TYPE);
  await assertRefused(world, acme, send, { status: 400, field: 'half.pdf', detail: 'cut off' });
});

// A server that answers and closes while the client still sends makes many
// clients report a broken pipe and lose the answer.
for (const [what, bytes, headers, problem] of [
  ['a file that is no PDF', Buffer.alloc(20_000_000, 'x'), {}, { status: 400, field: 'bad.pdf' }],
  ['a wrong key', pdfOfSize('key', 20_000_000), { authorization: 'Bearer wrong' }, { status: 401 }],
]) {
  test(`a client that still sends 20 MB hears that it is refused for ${what}`, async () => {
    const before = await world.restCounts();
    const form = formOf([{ name: 'bad.pdf', bytes }]);
    for (let i = 0; i < 10; i += 1) assertProblem(await acme.upload(form, FORM_TYPE, headers), problem);
    await world.nothingLeftBehind(before);
  });
}

function good(name) {
  return { name, bytes: pdfOfSize(name, 700) };
}
