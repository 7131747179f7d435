// Where the site is opened as files, browsers allow no workers: run the theme's search in a hidden frame instead.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.body.appendChild(document.createElement("iframe"))
      frame.hidden = true
      frame.worker = this
      this.ready = new Promise((resolve) => { this.start = resolve })
      this.frame = frame.contentWindow
      this.frame.document.open()
      this.frame.document.write(
        "<script>postMessage = (data) => frameElement.worker.receive(data); importScripts = () => {}</script>" +
        `<script src="${url}"></script><script>frameElement.worker.start()</script>`
      )
      this.frame.document.close()
    }

    postMessage(data) {
      this.ready.then(() => this.frame.dispatchEvent(new this.frame.MessageEvent("message", { data })))
    }

    receive(data) {
      this.dispatchEvent(new MessageEvent("message", { data }))
    }
  }
}
