// The API's description, as every site serves it, is one: `docs/openapi.json` is what the types say.
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import text from '../../../docs/openapi.json?raw';

test('the description is valid by the schema of OpenAPI 3.1, and all that it refers to is there', async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(JSON.parse(text));
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  expect(validator.version).toBe('3.1');
  // Throws where a reference leads nowhere.
  validator.resolveRefs();
});
