/**
 * The manifests for Kubernetes: against the schemas that Kubernetes publishes (by way of `kubernetes-models`, which is
 * made of them), against each other, and tried: a prexy is started as the Deployment says, with the ConfigMap mounted as
 * the kubelet does, is probed, and gets another ConfigMap.
 */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Deployment } from 'kubernetes-models/apps/v1'
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { ConfigMap, Service } from 'kubernetes-models/v1'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDER = join(ROOT, 'deploy/kubernetes')
const PREXY = join(ROOT, 'apps/prexy/bin/prexy.mjs')

const read = (name: string): ReturnType<typeof parse> => parse(readFileSync(join(FOLDER, name), 'utf8'))

const manifests = {
  configmap: new ConfigMap(read('configmap.yaml')),
  deployment: new Deployment(read('deployment.yaml')),
  service: new Service(read('service.yaml')),
  networkpolicy: new NetworkPolicy(read('networkpolicy.yaml')),
  horizontalpodautoscaler: new HorizontalPodAutoscaler(read('horizontalpodautoscaler.yaml')),
  poddisruptionbudget: new PodDisruptionBudget(read('poddisruptionbudget.yaml')),
}

/** Where the types of a kind are, for what the schemas let pass: fields that do not exist. */
const TYPES: Readonly<Record<keyof typeof manifests, readonly [module: string, type: string]>> = {
  configmap: ['v1', 'IConfigMap'],
  deployment: ['apps/v1', 'IDeployment'],
  service: ['v1', 'IService'],
  networkpolicy: ['networking.k8s.io/v1', 'INetworkPolicy'],
  horizontalpodautoscaler: ['autoscaling/v2', 'IHorizontalPodAutoscaler'],
  poddisruptionbudget: ['policy/v1', 'IPodDisruptionBudget'],
}

const work = mkdtempSync(join(tmpdir(), 'prexy-kubernetes-'))
// Modules are looked for above the file.
const typed = join(ROOT, '.build', `manifests-${process.pid}`)
afterAll(() => {
  rmSync(work, { recursive: true })
  rmSync(typed, { recursive: true, force: true })
})

const pod = manifests.deployment.spec?.template.spec
const [container] = pod?.containers ?? []
const labels = manifests.deployment.spec?.template.metadata?.labels ?? {}

test.each(Object.entries(manifests))('%s fits its schema', (_, manifest) => {
  expect(() => manifest.validate()).not.toThrow()
})

test('a manifest that does not fit is refused', () => {
  const wrong = read('deployment.yaml')
  wrong.spec.template.spec.containers[0].ports[0].containerPort = 'eighty'
  expect(() => new Deployment(wrong).validate()).toThrow('containerPort must be integer')
})

test('no manifest has a field that its kind has not', () => {
  mkdirSync(typed, { recursive: true })
  const source = (deployment: string): string =>
    Object.entries(TYPES)
      .map(([name, [module, type]]) => {
        const value = name === 'deployment' ? deployment : JSON.stringify(read(`${name}.yaml`))
        return `import type { ${type} } from 'kubernetes-models/${module}'\nexport const ${name}: ${type} = ${value}\n`
      })
      .join('')
  const deployment = JSON.stringify(read('deployment.yaml'))
  const misspelt = deployment.replace('"readOnlyRootFilesystem"', '"readOnlyRootFileSystem"')
  expect(complaintsOf('manifests.ts', source(deployment))).toEqual([])
  expect(complaintsOf('misspelt.ts', source(misspelt)).join('\n')).toMatch(/"readOnlyRootFileSystem"' does not exist/)
}, 60_000)

function complaintsOf(name: string, source: string): readonly string[] {
  const file = join(typed, name)
  writeFileSync(file, source)
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const options = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--types',
    '',
    '--pretty',
    'false',
  ]
  const { stdout } = spawnSync(process.execPath, [tsc, ...options, file], { cwd: typed, encoding: 'utf8' })
  return stdout.split('\n').filter(Boolean)
}

describe('what they say together', () => {
  test('kustomize takes each of them', () => {
    const files = readdirSync(FOLDER).filter((name) => name !== 'kustomization.yaml')
    expect(read('kustomization.yaml').resources.toSorted()).toEqual(files.toSorted())
  })

  test('everything selects the pods of the Deployment', () => {
    for (const selector of [
      manifests.deployment.spec?.selector.matchLabels,
      manifests.service.spec?.selector,
      manifests.networkpolicy.spec?.podSelector.matchLabels,
      manifests.poddisruptionbudget.spec?.selector?.matchLabels,
    ])
      expect(labels).toMatchObject(selector ?? { nothing: 'selected' })
    expect(manifests.horizontalpodautoscaler.spec?.scaleTargetRef).toMatchObject({
      kind: manifests.deployment.kind,
      name: manifests.deployment.metadata?.name,
    })
  })

  test('ports have the names that are asked for, and the numbers that the configuration has', () => {
    const ports = new Map(container?.ports?.map(({ name, containerPort }) => [name, containerPort]))
    const configuration = parse(manifests.configmap.data?.['prexy.yaml'] ?? '')
    expect(ports.get('http')).toBe(configuration.listen)
    expect(configuration.admin.listen).toBe(`*:${ports.get('admin')}`)
    const asked = [
      ...(manifests.service.spec?.ports?.map(({ targetPort }) => targetPort) ?? []),
      ...(manifests.networkpolicy.spec?.ingress?.flatMap((rule) => rule.ports?.map(({ port }) => port) ?? []) ?? []),
      container?.startupProbe?.httpGet?.port,
      container?.readinessProbe?.httpGet?.port,
      container?.livenessProbe?.httpGet?.port,
    ]
    for (const port of asked) expect([...ports.keys()]).toContain(port)
  })

  test('a pod has time to finish what is under way before it is killed', () => {
    const { drainMs } = parse(manifests.configmap.data?.['prexy.yaml'] ?? '').timeouts
    const sleep = container?.lifecycle?.preStop?.sleep?.seconds ?? 0
    expect(pod?.terminationGracePeriodSeconds).toBeGreaterThan(sleep + drainMs / 1_000)
  })

  test('the process is nobody, may do nothing and writes nowhere', () => {
    expect(pod?.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    expect(pod?.automountServiceAccountToken).toBe(false)
    expect(container?.securityContext).toMatchObject({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
  })

  test('the heap leaves room within the limit of memory', () => {
    const options = container?.env?.find(({ name }) => name === 'NODE_OPTIONS')?.value ?? ''
    const heap = Number(/--max-old-space-size=(\d+)/.exec(options)?.[1])
    const limit = Number(/^(\d+)Mi$/.exec(String(container?.resources?.limits?.memory))?.[1])
    expect(heap).toBeGreaterThan(0)
    expect(heap).toBeLessThanOrEqual(0.75 * limit)
  })
})

/** As the kubelet mounts a ConfigMap: links to links, of which one is swapped. */
function mount(folder: string, version: string, text: string): void {
  mkdirSync(join(folder, version), { recursive: true })
  writeFileSync(join(folder, version, 'prexy.yaml'), text)
  symlinkSync(version, join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
}

/** Resolves with the first match in what it has said, from `from` on, as soon as there is one. */
function said(child: ChildProcessWithoutNullStreams): (pattern: RegExp) => Promise<RegExpExecArray> {
  let text = ''
  const waiting = new Set<() => void>()
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
    for (const look of waiting) look()
  })
  return (pattern) =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(text)
        if (match === null) return
        waiting.delete(look)
        resolve(match)
      }
      waiting.add(look)
      child.once('close', (code) => reject(new Error(`it ended with ${code}: ${text}`)))
      look()
    })
}

test('a pod starts, is probed, takes another ConfigMap and stops', async () => {
  const origin = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/plain').end('https://www.example.org/')
  })
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const address = origin.address()
  const originPort = typeof address === 'object' && address !== null ? address.port : 0
  const configuration = (manifests.configmap.data?.['prexy.yaml'] ?? '')
    .replace('listen: 8080', 'listen: 127.0.0.1:0')
    .replace("'*:9901'", '127.0.0.1:0')
    .replace(/^upstream: .*$/m, `upstream: http://127.0.0.1:${originPort}`)
  const folder = join(work, 'mounted')
  mount(folder, '..2026_12_01_1', configuration)
  symlinkSync('..data/prexy.yaml', join(folder, 'prexy.yaml'))
  const args = container?.args?.map((word) => (word === '/etc/prexy' ? folder : word)) ?? []
  expect(args).toContain(folder)
  const variables = container?.env?.map(({ name, value }) => [name, value ?? '0123456789abcdef'] as const) ?? []
  const child = spawn(process.execPath, [PREXY, ...args], { env: { ...process.env, ...Object.fromEntries(variables) } })
  const told = said(child)
  try {
    const [, site] = await told(/listening on (http:\/\/\S+?)\/?\s/)
    const [, admin] = await told(/admin on (http:\/\/[\d.]+:\d+)/)
    for (const probe of [container?.startupProbe, container?.readinessProbe, container?.livenessProbe]) {
      expect((await fetch(`${admin}${probe?.httpGet?.path}`)).status).toBe(200)
    }
    expect((await fetch(`${admin}/metrics`)).status).toBe(200)
    expect(await (await fetch(site)).text()).toBe('https://www.example.de/')
    mount(folder, '..2026_12_01_2', configuration.replace('www.example.de', 'www.example.fr'))
    await told(/the new configuration is served/)
    expect(await (await fetch(site)).text()).toBe('https://www.example.fr/')
    const closed = once(child, 'close')
    child.kill('SIGTERM')
    expect(await closed).toEqual([0, null])
  } finally {
    child.kill('SIGKILL')
    origin.closeAllConnections()
    origin.close()
  }
}, 60_000)
