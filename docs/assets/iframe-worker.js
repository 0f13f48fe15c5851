/* Search for pages that are opened from a folder: browsers start no worker for file: addresses, so this stands in for
   one. It runs the script in a hidden frame and passes messages between the frame and the page. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.importScripts = (...addresses) =>
        addresses.reduce((done, next) => done.then(() => this.load(next)), Promise.resolve())
      this.load(address).then(() => {
        this.ready = true
        this.waiting.forEach((data) => this.postMessage(data))
      })
    }
    load(address) {
      return new Promise((resolve, reject) => {
        const script = this.frame.contentDocument.createElement("script")
        Object.assign(script, { src: address, onload: resolve, onerror: reject })
        this.frame.contentDocument.body.appendChild(script)
      })
    }
    postMessage(data) {
      if (this.ready) this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }))
      else this.waiting.push(data)
    }
    terminate() {
      this.frame.remove()
    }
  }
}
