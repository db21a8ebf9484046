/**
 * Applications on the TCAP of a Tandem signalling gateway: one file, no dependencies but Node's own.
 *
 * A dialogue collects components until `goOn`, `end` or `abort` sends them. Every message is a line of
 * JSON with the names of ASN.1; docs/applications.md has all of them.
 */
import { createHmac } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { hostname } from 'node:os'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** An address of SCCP. */
export interface Address {
  pc?: number
  ssn?: number
  gt?: string | { digits: string; indicator?: number; tt?: number; np?: number; nai?: number }
  route?: 'title' | 'subsystem'
}

/** An operation that is asked for. */
export interface Invoke {
  invoke: number
  operation: string | number
  linked?: number
  argument?: any
  raw?: string
  class?: number
  timeout_ms?: number
}

/** What answers one, or rejects a component. */
export interface Answer {
  result?: number
  part?: boolean
  operation?: string | number
  value?: any
  error?: number
  name?: string | number
  parameter?: any
  reject?: number | null
  problem?: string
  raw?: string
}

/** A message of the gateway. */
export interface Message {
  tc: string
  dialogue?: number
  connection?: number
  reference?: number
  called?: Address
  calling?: Address
  own?: Address
  peer?: Address
  context?: string
  state?: string
  components?: (Invoke | Answer)[]
  [more: string]: unknown
}

/**
 * What takes messages. One that throws, or whose promise is rejected, costs the dialogue or connection
 * of that message alone: it is aborted, and the error printed.
 */
export type Handler = (dialogue: Dialogue | undefined, message: Message) => void

export interface Options {
  group?: string
  instance?: string
  /** A key of the application's key file. */
  key?: string
  tls?: ConnectionOptions
}

const VERSION = 1
const LAST = ['end', 'u-abort', 'p-abort']

const isInvoke = (it: Invoke | Answer): it is Invoke => 'invoke' in it
const encoded = (state: Json): string => Buffer.from(JSON.stringify(state)).toString('hex')

/** A dialogue: what came last, and what is to be sent. */
export class Dialogue {
  called?: Address
  calling?: Address
  context?: string
  state: Json = null
  came: (Invoke | Answer)[] = []
  isOver = false
  private components: (Invoke | Answer)[] = []
  private next = 0

  constructor(
    private readonly connection: Connection,
    public number: number,
  ) {}

  /** The operations of the peer that came last. */
  invokes(operation?: string): Invoke[] {
    const all = this.came.filter(isInvoke)
    return operation === undefined ? all : all.filter((it) => it.operation === operation)
  }

  /** The results, errors and rejects that came last. */
  answers(): Answer[] {
    return this.came.filter((it): it is Answer => !isInvoke(it))
  }

  /** Asks for an operation; its invoke identifier. */
  invoke(operation: string, argument?: Json, more: Partial<Invoke> = {}): number {
    this.next = (this.next % 127) + 1
    this.components.push({ invoke: this.next, operation, argument, ...more })
    return this.next
  }

  /** Answers an operation of the peer. */
  result(to: Invoke | { invoke: number; operation: string }, value?: Json): void {
    const of = value === undefined ? {} : { operation: to.operation, value }
    this.components.push({ result: to.invoke, ...of })
  }

  /** An operation of the peer fails. */
  error(to: { invoke: number }, name: string, parameter?: Json): void {
    this.components.push({ error: to.invoke, name, parameter })
  }

  /** TC-CONTINUE. With a state another instance can go on with the dialogue when this one dies. */
  goOn(state?: Json): void {
    if (state !== undefined) this.state = state
    this.send('continue', state === undefined ? {} : { state: encoded(state) })
  }

  /** TC-END. */
  end(prearranged = false): void {
    this.over()
    this.send('end', prearranged ? { prearranged } : {})
  }

  /** TC-U-ABORT; a context refuses the dialogue and names one that may be used. */
  abort(context?: string): void {
    this.over()
    this.components = []
    this.send('u-abort', { context })
  }

  private send(tc: string, more: object): void {
    const components = this.components.length > 0 ? this.components : undefined
    this.components = []
    this.connection.send({ tc, dialogue: this.number, ...more, components })
  }

  over(): void {
    this.isOver = true
    this.connection.dialogues.delete(this.number)
  }
}

/** A connection to a gateway, as `unix:PATH`, `tcp:HOST:PORT` or `tls:HOST:PORT`. */
export class Connection {
  readonly dialogues = new Map<number, Dialogue>()
  private readonly begins = new Map<number, Dialogue>()
  private readonly socket: Socket
  private readonly names: string[]
  private references = 0
  private rest = ''

  constructor(
    address: string,
    application: string,
    private readonly handler: Handler,
    private readonly options: Options = {},
  ) {
    const [, kind, place] = /^(\w+):(.*)$/.exec(address) ?? []
    const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(place ?? '') ?? []
    const at = { host, port: Number(port) }
    if (kind === 'unix') this.socket = connect(place!)
    else if (kind === 'tls') this.socket = connectTls({ ...at, ...options.tls })
    else this.socket = connect(at)
    this.names = [application, options.group ?? '', options.instance ?? `${hostname()}-${process.pid}`]
    this.socket.setEncoding('utf8')
    this.socket.on('data', (text: string) => this.received(text))
    this.hello()
  }

  /** Hears of the end of the connection, and why. */
  onClosed(told: (why: string) => void): void {
    let why = 'the gateway has closed the connection'
    this.socket.on('error', (error) => (why = error.message))
    this.socket.on('close', () => told(why))
  }

  send(message: object): void {
    this.socket.write(JSON.stringify(message) + '\n')
  }

  /** TC-BEGIN, with one operation. */
  begin(to: { called: Address; calling: Address; context: string }, invoke?: Omit<Invoke, 'invoke'>): Dialogue {
    const dialogue = Object.assign(new Dialogue(this, NaN), to)
    this.references += 1
    this.begins.set(this.references, dialogue)
    const components = invoke && [{ invoke: 1, ...invoke }]
    this.send({ tc: 'begin', reference: this.references, ...to, components })
    return dialogue
  }

  private hello(proof?: string): void {
    const [application, group, instance] = this.names
    this.send({ tc: 'hello', version: VERSION, application, group, instance, proof })
  }

  private prove(nonce: string): void {
    if (this.options.key === undefined) {
      this.socket.destroy(new Error('the gateway wants a key'))
      return
    }
    const hmac = createHmac('sha256', this.options.key).update('tcu hello\0')
    hmac.update(Buffer.from(nonce, 'hex')).update(this.names.map((it) => '\0' + it).join(''))
    this.hello(hmac.digest('hex'))
  }

  private received(text: string): void {
    const lines = (this.rest + text).split('\n')
    this.rest = lines.pop() ?? ''
    for (const line of lines) {
      let message: Message | undefined
      try {
        message = JSON.parse(line) as Message
        const done = this.take(message)
        if (done instanceof Promise) done.catch((error: unknown) => this.failed(message, error))
      } catch (error) {
        this.failed(message, error)
      }
    }
  }

  /** One message is no reason to lose all other dialogues: its own ends. */
  private failed(message: Message | undefined, error: unknown): void {
    console.error(error)
    const { tc, connection } = message ?? { tc: '' }
    this.dialogues.get(message?.dialogue ?? NaN)?.abort()
    // Of these two nothing is left to be ended.
    if (connection !== undefined && tc !== 'n-disconnect' && tc !== 'n-not-sent') {
      this.send({ tc: 'n-disconnect', connection, cause: 3 })
    }
  }

  /** Gives a message to the handler; what that returns. */
  private take(message: Message): unknown {
    if (message.tc === 'challenge') return this.prove(message['nonce'] as string)
    const dialogue = this.found(message)
    if (dialogue !== undefined) {
      dialogue.came = message.components ?? []
      if (LAST.includes(message.tc)) dialogue.over()
    }
    return this.handler(dialogue, message)
  }

  /** The dialogue of a message; a new one where it begins or is resumed. */
  private found(message: Message): Dialogue | undefined {
    const { tc, reference = 0, dialogue: number = NaN } = message
    if (tc === 'begun' || (tc === 'refused' && message.reference !== undefined)) {
      const dialogue = this.begins.get(reference)
      this.begins.delete(reference)
      if (tc === 'begun' && dialogue !== undefined) {
        dialogue.number = number
        this.dialogues.set(number, dialogue)
      }
      return dialogue
    }
    if (tc !== 'begin' && tc !== 'resume') {
      const dialogue = this.dialogues.get(number)
      if (tc === 'refused' && message['why'] === 'unknown dialogue') dialogue?.over()
      return dialogue
    }
    const dialogue = new Dialogue(this, number)
    dialogue.called = message.called ?? message.own
    dialogue.calling = message.calling ?? message.peer
    dialogue.context = message.context
    this.dialogues.set(number, dialogue)
    const state = Buffer.from(message.state ?? '', 'hex').toString()
    dialogue.state = state === '' ? null : (JSON.parse(state) as Json)
    return dialogue
  }
}

/** Serves for ever: connects, and connects again when the connection is over. */
export function serve(address: string, application: string, handler: Handler, options: Options = {}): void {
  const again = (): void => serve(address, application, handler, options)
  new Connection(address, application, handler, options).onClosed((why) => {
    console.error(`${application}: ${why}; again in 1 s`)
    setTimeout(again, 1_000)
  })
}

const swapped = (text: string): string => text.replace(/(.)(.)/g, '$2$1')

/** Digits two in an octet, the first one low (TBCD-STRING), as hexadecimal digits. */
export const tbcd = (digits: string): string => swapped(digits.length % 2 === 0 ? digits : digits + 'f')

/** An international E.164 number as ISDN-AddressString. */
export const isdn = (number: string): string => '91' + tbcd(number)

/** The digits of an AddressString. */
export const number = (octets: string): string => swapped(octets.slice(2)).replace(/f+$/, '')
