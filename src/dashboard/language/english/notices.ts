/** Notices to users about changes of their accounts by others. They appear in mails and after signing in. */
export const notices = {
  subject: 'Security notice about your Gatehouse account',
  events: {
    NEW_PASSWORD_ASKED: (when: string) =>
      `${when}: an operator requested a password reset link for your account.`,
    NEW_PASSWORD_APPROVED: (when: string) =>
      `${when}: two operators approved a password reset link for your account.`,
    PASSWORD_RESET: (when: string) => `${when}: a new password was set for your account with a link.`,
    SECOND_FACTOR_REMOVAL_ASKED: (when: string) =>
      `${when}: an operator asked to remove the one-time codes from your account.`,
    SECOND_FACTOR_REMOVED: (when: string) =>
      `${when}: two operators removed the one-time codes from your account.`,
    OWNER_INVITED: (when: string, merchant: string) =>
      `${when}: an operator invited another owner to ${merchant}, or gave a member that role.`,
  },
  advice: 'If you did not expect this, tell the operators of the gateway at once.',
  mail: (what: string) => `Hello,

${what}

If you did not expect this, tell the operators of the gateway at once. Do not
reply to this mail.
`,
};
