;;; emacs.el --- Emacs, set up by the block of editors/README.md, as somebody who types  -*- lexical-binding: t -*-

;; Environment: TRELLIS_BLOCK, the block in a file; TRELLIS_FILE, the node that is edited; TRELLIS_LISP, where markdown-mode is.

(setq make-backup-files nil create-lockfiles nil auto-save-default nil)
(add-to-list 'load-path (getenv "TRELLIS_LISP"))
(require 'markdown-mode)
(add-to-list 'auto-mode-alist '("\\.md\\'" . markdown-mode))
(load (getenv "TRELLIS_BLOCK") nil t t)
(require 'eglot)
(require 'flymake)
(setq flymake-no-changes-timeout 0.1 eglot-send-changes-idle-time 0)

(defun trellis-wait (what holds)
  "Wait until HOLDS is true; WHAT is waited for."
  (let ((until (+ (float-time) 60)))
    (while (not (funcall holds))
      (when (> (float-time) until) (error "Waited in vain: %s" what))
      (accept-process-output nil 0.05)
      (run-hooks 'post-command-hook))))

(defun trellis-findings ()
  "What flymake shows in this buffer."
  (flymake-start)
  (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))

(defun trellis-type (line text)
  "Put TEXT in place of LINE, as if it were typed."
  (goto-char (point-min))
  (forward-line (1- line))
  (delete-region (line-beginning-position) (line-end-position))
  (insert text)
  (eglot--signal-textDocument/didChange))

(find-file (getenv "TRELLIS_FILE"))
(trellis-wait "the server" (lambda () (eglot-current-server)))
(trellis-type 4 "to: srved")
(trellis-wait "a finding"
              (lambda () (seq-some (lambda (text) (string-match-p "there is no node `srved`" text)) (trellis-findings))))

(trellis-type 4 "to: serv")
(end-of-line)
(completion-at-point)
(unless (string= (buffer-substring (line-beginning-position) (line-end-position)) "to: served")
  (error "Not completed: %s" (buffer-string)))
(eglot--signal-textDocument/didChange)
(trellis-wait "no finding" (lambda () (null (trellis-findings))))

(setq eglot-confirm-server-edits nil)
(goto-char (point-min))
(search-forward "to: ser")
(eglot-rename "poured")
(save-some-buffers t)
(unless (string-match-p "^to: poured$" (buffer-string)) (error "Not renamed: %s" (buffer-string)))
(message "DONE")
