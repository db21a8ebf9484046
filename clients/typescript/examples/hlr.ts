/**
 * An HLR whose subscribers are the rows of a CSV file: msisdn,imsi,msc,msrn.
 *
 *   hlr.ts unix:var/hlr.sock subscribers.csv
 */
import { readFileSync } from 'node:fs'
import { type Dialogue, type Invoke, isdn, number, serve, tbcd } from '../tandem_tcu.ts'

const [address, file] = process.argv.slice(2) as [string, string]
const rows = readFileSync(file, 'utf8').trim().split(/\r?\n/).slice(1)
const subscribers = new Map(rows.map((row) => [row.split(',')[0], row.split(',')]))

function answer(dialogue: Dialogue, invoke: Invoke): void {
  const msisdn = invoke.argument?.msisdn
  if (msisdn === undefined) return dialogue.error(invoke, 'dataMissing')
  const found = subscribers.get(number(msisdn))
  if (found === undefined) return dialogue.error(invoke, 'unknownSubscriber')
  const [, imsi = '', msc = '', msrn = ''] = found
  switch (invoke.operation) {
    case 'sendRoutingInfoForSM': {
      if (msc === '') return dialogue.error(invoke, 'absentSubscriberSM')
      const location = { 'networkNode-Number': isdn(msc) }
      return dialogue.result(invoke, { imsi: tbcd(imsi), locationInfoWithLMSI: location })
    }
    case 'sendRoutingInfo': {
      if (msrn === '') return dialogue.error(invoke, 'absentSubscriber')
      const routing = { routingInfo: { roamingNumber: isdn(msrn) } }
      return dialogue.result(invoke, { imsi: tbcd(imsi), extendedRoutingInfo: routing })
    }
    default:
      return dialogue.error(invoke, 'facilityNotSupported')
  }
}

serve(address, 'hlr', (dialogue, message) => {
  if (message.tc !== 'begin' || dialogue === undefined) return
  const context = dialogue.context ?? '-v3'
  if (!context.endsWith('-v3')) return dialogue.abort(context.slice(0, -1) + '3')
  dialogue.invokes().forEach((invoke) => answer(dialogue, invoke))
  dialogue.end()
})
